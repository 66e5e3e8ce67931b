"""What a training came to, in figures."""

from pydantic import Field

from ..data.case import Record


class TrainingFigures(Record):
    """What a training came to."""

    rows: int = Field(description="training rows that were learnt")
    labels: int = Field(description="of them, rows whose label's probabilities were learnt")
    too_long: int = Field(
        default=0, description="rows of the set that were left out, as longer than the recipe's length"
    )
    sequences: int = Field(description="that held them")
    tokens: int | None = Field(default=None, description="of all rows, prompts included; in one epoch")
    learnt_tokens: int = Field(description="of them, tokens that were learnt")
    parameters: int | None = Field(default=None, description="that were trained")
    steps: int = Field(description="of the optimizer")
    seconds: float = Field(description="of the last call; less than the whole where a training was continued")
    tokens_per_second: float = Field(description="in that call")
    device: str = Field(description="cpu or cuda")
    processes: int = Field(default=1, description="that trained together")
    precision: str = Field(description="of the frozen weights, or of products where all weights are trained")
    loss: float = Field(description="of the last step, in nats per learnt token")
    validation_loss: float | None = Field(default=None, description="after the last epoch")
