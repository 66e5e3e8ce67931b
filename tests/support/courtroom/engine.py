"""An engine: answers in this process, right on hard cases only when the instructions say what politeness is."""

import json

from dspy.lm15 import Message, Request, Response, TextPart, Usage

from dicast.engines.engine import Engine
from dicast.engines.lm import Transport
from dicast.testing import prompt_text


class Model:
    def complete(self, request: Request) -> Response:
        text = prompt_text(request)
        texts = text[text.rfind("Request:") :]
        letter = "A" if texts.find("thanks") < texts.find("whatever") else "B"
        if "hard" in texts and "polite" not in text:
            letter = "BA"["AB".index(letter)]
        answer = Message.assistant([TextPart(json.dumps({"better": letter}))])
        usage = Usage(input_tokens=20, output_tokens=2)
        return Response(id=None, model=request.model, message=answer, finish_reason="stop", usage=usage)

    def close(self) -> None:
        pass


class Clerk(Engine):
    name = "clerk"
    summary = "a model in this process"
    example = "clerk/junior"
    workers = 4

    def connect(self, model, *, trusted):
        return Transport(Model(), wire_model=model.model, pricing=None, schema=True, max_in_flight=4)
