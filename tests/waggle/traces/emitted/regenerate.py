# mypy: ignore-errors
"""Make the recordings beside this file with the real frameworks and models that play a script: ``regenerate.py NAME``.

Its types are known only where a framework is. Run it where one is installed: `pydantic-ai-slim`, `google-adk` (2.13.0
was), `strands-agents` (1.62.0 was) or `agent-framework-core` (1.23.0 was), each with `opentelemetry-sdk`;
`openai-agents`; `mini-swe-agent`. Ids and times are the frameworks' own; paths are taken out.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
#: What every scripted model calls, one after another, and what its tool answers.
SKUS = ("A", "B")
#: What the models of Strands and the Microsoft Agent Framework call, turn by turn; there is no item C: an error.
TURNS = (("A",), ("B", "C"))


def write(name: str, records: list[dict[str, Any]], *, indent: int | None = None) -> None:
    text = "".join(json.dumps(record, indent=indent, default=str) + "\n" for record in records)
    (HERE / name).write_text(
        text.replace(str(Path.home()), "/home/dev").replace(str(Path.cwd()), "/work"), encoding="utf-8"
    )


def tracer() -> Any:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    memory, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    trace.set_tracer_provider(provider)
    return memory, provider


def spans(memory: Any) -> list[dict[str, Any]]:
    found = [json.loads(span.to_json(indent=None)) for span in memory.get_finished_spans()]
    for span in found:
        span["resource"] = {}
        for event in span["events"]:
            event["attributes"].pop("exception.stacktrace", None)  # of paths of this machine
    return found


def pydantic_ai(version: int = 5, name: str = "pydantic-ai.console.json") -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.models.instrumented import InstrumentationSettings

    memory, provider = tracer()

    def scripted(messages: Any, info: Any) -> Any:
        back = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
        if back < len(SKUS):
            return ModelResponse(parts=[ToolCallPart("lookup", {"sku": SKUS[back]})])
        return ModelResponse(parts=[TextPart("done")])

    settings = InstrumentationSettings(tracer_provider=provider, version=version)
    try:
        from pydantic_ai.capabilities import Instrumentation

        agent = Agent(FunctionModel(scripted), name="shop", capabilities=[Instrumentation(settings)])
    except ImportError:
        agent = Agent(FunctionModel(scripted), name="shop", instrument=settings)

    @agent.tool_plain
    def lookup(sku: str) -> str:
        return f"item {sku}"

    agent.run_sync("What are A and B?")
    write(name, spans(memory), indent=4)


def openai_agents() -> None:  # noqa: C901 - the framework's interfaces, each filled with one line
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool, set_trace_processors
    from agents.tracing import TracingProcessor
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    records: list[dict[str, Any]] = []

    class Keeps(TracingProcessor):
        def on_trace_start(self, trace: Any) -> None:
            records.append(trace.export())

        def on_trace_end(self, trace: Any) -> None: ...
        def on_span_start(self, span: Any) -> None: ...

        def on_span_end(self, span: Any) -> None:
            records.append(span.export())

        def shutdown(self) -> None: ...
        def force_flush(self) -> None: ...

    set_trace_processors([Keeps()])

    class Scripted(Model):
        async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
            back = sum(item.get("type") == "function_call_output" for item in input if isinstance(item, dict))
            if back < len(SKUS):
                args_text = json.dumps({"sku": SKUS[back]})
                item: Any = ResponseFunctionToolCall(
                    arguments=args_text, call_id=f"c{back}", name="lookup", type="function_call"
                )
            else:
                text = ResponseOutputText(annotations=[], text="done", type="output_text")
                item = ResponseOutputMessage(
                    id="m", content=[text], role="assistant", status="completed", type="message"
                )
            return ModelResponse(output=[item], usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("this agent is not streamed")  # the SDK wants the method to be there

    @function_tool
    def lookup(sku: str) -> str:
        return f"item {sku}"

    agent = Agent(name="shop", model=Scripted(), tools=[lookup])
    Runner.run_sync(agent, "What are A and B?", run_config=RunConfig(group_id="conversation-1"))
    write("openai-agents.jsonl", records)


def google_adk(name: str, content: str) -> None:
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = content
    memory, _ = tracer()
    from google.adk.agents import LlmAgent
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:  # noqa: FBT001, FBT002
            back = sum(bool(part.function_response) for one in llm_request.contents for part in one.parts)
            parts = [types.Part(text="done")]
            if not back:  # both at once: parallel calls leave a span of both besides
                parts = [types.Part(function_call=types.FunctionCall(name="lookup", args={"sku": sku})) for sku in SKUS]
            yield LlmResponse(content=types.Content(role="model", parts=parts))

    def lookup(sku: str) -> dict[str, str]:
        """Look up an item."""
        return {"item": f"item {sku}"}

    async def run() -> None:
        runner = InMemoryRunner(
            LlmAgent(name="shop", model=Scripted(model="scripted"), tools=[lookup]), app_name="shop"
        )
        session = await runner.session_service.create_session(app_name="shop", user_id="u")
        message = types.Content(role="user", parts=[types.Part(text="What are A and B?")])
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            pass

    asyncio.run(run())
    write(name, spans(memory))


def item(sku: str) -> str:
    if sku == "C":
        raise KeyError(f"no item {sku}")
    return f"item {sku}"


def strands(name: str, opt_in: str = "") -> None:
    """With ``gen_ai_latest_experimental`` it writes today's names; with a list of what is shown, it hides the rest."""
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = opt_in
    memory, _ = tracer()
    from strands import Agent, tool
    from strands.models import Model

    class Scripted(Model):
        config = {"model_id": "scripted"}  # noqa: RUF012 - where the framework looks for the model's name

        def update_config(self, **_: Any) -> None: ...

        def get_config(self) -> dict[str, Any]:
            return self.config

        async def structured_output(self, *_: Any, **__: Any) -> Any:
            yield {}

        async def stream(self, messages: Any, *_: Any, **__: Any) -> Any:
            turn = sum(message["role"] == "assistant" for message in messages)
            skus = TURNS[turn] if turn < len(TURNS) else ()
            yield {"messageStart": {"role": "assistant"}}
            for sku in skus:
                use = {"name": "lookup", "toolUseId": f"call-{sku}"}
                yield {"contentBlockStart": {"start": {"toolUse": use}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"sku": sku})}}}}
                yield {"contentBlockStop": {}}
            if not skus:
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": "done"}}}
                yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use" if skus else "end_turn"}}
            usage = {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12}
            yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}

    @tool
    def lookup(sku: str) -> str:
        """Look up an item."""
        return item(sku)

    Agent(name="shop", model=Scripted(), tools=[lookup], callback_handler=None)("What are A, B and C?")
    write(name, spans(memory))


def agent_framework(name: str, *, content: bool) -> None:
    os.environ["ENABLE_SENSITIVE_DATA"] = str(content).lower()
    memory, _ = tracer()
    from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message, tool
    from agent_framework.observability import ChatTelemetryLayer

    class Scripted(FunctionInvocationLayer, ChatTelemetryLayer, BaseChatClient):
        def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
            async def reply() -> ChatResponse:
                turn = sum(message.role == "assistant" for message in messages)
                skus = TURNS[turn] if turn < len(TURNS) else ()
                calls = [
                    Content.from_function_call(call_id=f"call-{sku}", name="lookup", arguments={"sku": sku})
                    for sku in skus
                ]
                said = Message(role="assistant", contents=calls or [Content.from_text("done")])
                return ChatResponse(messages=[said], model="scripted")

            return reply()

    @tool(approval_mode="never_require")
    def lookup(sku: str) -> str:
        """Look up an item."""
        return item(sku)

    agent = Agent(client=Scripted(), name="shop", tools=[lookup])
    asyncio.run(agent.run("What are A, B and C?", session=agent.create_session()))
    write(name, spans(memory))


def mini_swe_agent() -> None:
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.environments.local import LocalEnvironment
    from minisweagent.models.test_models import DeterministicModel, make_output

    def step(thought: str, command: str) -> Any:
        return make_output(f"{thought}\n\n```mswea_bash_command\n{command}\n```", [{"command": command}])

    outputs = [
        step("I look first.", "printf 'one\\ntwo\\n'"),
        step("Now one that fails.", "ls no-such-place"),
        step("Done.", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
    ]
    agent = DefaultAgent(
        DeterministicModel(outputs=outputs),
        LocalEnvironment(),
        system_template="You can run commands.",
        instance_template="{{task}}",
    )
    agent.run("What is in here?")
    agent.save(HERE / "mini-swe-agent.traj.json")
    path = HERE / "mini-swe-agent.traj.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["info"]["config"].get("environment", {}).pop("env", None)
    write(path.name, [record], indent=2)


MAKERS = {
    "pydantic-ai": pydantic_ai,
    "pydantic-ai-v2": lambda: pydantic_ai(2, "pydantic-ai-v2.console.json"),
    "openai-agents": openai_agents,
    "google-adk": lambda: google_adk("google-adk.console.jsonl", "SPAN_ONLY"),
    "google-adk-without-content": lambda: google_adk("google-adk-without-content.console.jsonl", ""),
    "strands": lambda: strands("strands.console.jsonl"),
    "strands-latest": lambda: strands("strands-latest.console.jsonl", "gen_ai_latest_experimental"),
    "strands-redacted": lambda: strands("strands-redacted.console.jsonl", "gen_ai_unredacted_attributes="),
    "agent-framework": lambda: agent_framework("agent-framework.console.jsonl", content=True),
    "agent-framework-without-content": lambda: agent_framework(
        "agent-framework-without-content.console.jsonl", content=False
    ),
    "mini-swe-agent": mini_swe_agent,
}

if __name__ == "__main__":
    MAKERS[sys.argv[1]]()
