"""What a workflow reports while it works."""

from ..data import Judged


class Progress:
    """Callbacks of a workflow, called in the thread that runs it. Here they do nothing; override those you need."""

    def download(self, name: str, done: int, total: int) -> None:
        """Bytes of model weights fetched so far."""

    def start(self, total: int | None, done: int) -> None:
        """The cases are about to be processed.

        Args:
            total: number of cases; None where counting them would take long.
            done: cases finished by an earlier run.
        """

    def verdict(self, judged: Judged) -> None:
        """A case was judged; its verdict is on the disk."""

    def prepared(self, failures: int) -> None:
        """A case was prepared, or failed; `failures` counts the failed ones."""

    def step(self, name: str, text: str) -> None:
        """A step of a compilation is finished."""

    def notice(self, text: str) -> None:
        """Something that the user should know, as a sentence."""

    def waiting(self, text: str) -> None:
        """No case has finished for a minute; what is waited for, and since when. By default a notice."""
        self.notice(text)


SILENT = Progress()
