"""The names of OpenTelemetry's conventions for generative AI that are looked at, and those that are written for them.

Not responsible for what they mean together: `waggle.traces.otel`.
"""

from __future__ import annotations

from typing import Final

#: What the names of the attributes are pinned to; flows learned from spans record it.
CONVENTIONS: Final = "OpenTelemetry GenAI semantic conventions 1.38.0"

OPERATION: Final = "gen_ai.operation.name"
#: Operations of a model, and that of a tool.
INFERENCE: Final = frozenset({"chat", "generate_content", "text_completion"})
TOOL: Final = "execute_tool"

#: Who wrote the span; the older name after the newer one.
SYSTEMS: Final = ("gen_ai.provider.name", "gen_ai.system")

CONVERSATION: Final = "gen_ai.conversation.id"
AGENT: Final = "gen_ai.agent.name"
INPUT: Final = "gen_ai.input.messages"
OUTPUT: Final = "gen_ai.output.messages"
PROMPT_TOKENS: Final = "gen_ai.usage.input_tokens"
COMPLETION_TOKENS: Final = "gen_ai.usage.output_tokens"
MODELS: Final = ("gen_ai.response.model", "gen_ai.request.model")
CALL_ID: Final = "gen_ai.tool.call.id"
CALL_TOOL: Final = "gen_ai.tool.name"
CALL_STATUS: Final = "gen_ai.tool.status"
CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
CALL_RESULT: Final = "gen_ai.tool.call.result"
MCP_METHOD: Final = "mcp.method.name"

#: Where arguments and results are, in order of preference: besides, in an older Pydantic AI and in Google ADK.
ARGUMENTS: Final = (CALL_ARGUMENTS, "tool_arguments", "gcp.vertex.agent.tool_call_args")
RESULTS: Final = (CALL_RESULT, "tool_response", "gcp.vertex.agent.tool_response")

#: Events of a span that hold its content, and their attributes: up to version 1.36 one event a message, then one with
#: the attributes that a span may have itself.
USER_EVENT: Final = "gen_ai.user.message"
TOOL_EVENT: Final = "gen_ai.tool.message"
CHOICE_EVENT: Final = "gen_ai.choice"
DETAILS_EVENT: Final = "gen_ai.client.inference.operation.details"
EVENT_CONTENT: Final = "content"
EVENT_MESSAGE: Final = "message"

#: The attributes and events that are looked at.
ATTRIBUTES: Final = frozenset(
    {OPERATION, CONVERSATION, AGENT, INPUT, OUTPUT, PROMPT_TOKENS, COMPLETION_TOKENS, *MODELS, *SYSTEMS}
    | {CALL_ID, CALL_TOOL, CALL_STATUS, MCP_METHOD, *ARGUMENTS, *RESULTS}
    | {USER_EVENT, TOOL_EVENT, CHOICE_EVENT, DETAILS_EVENT, EVENT_CONTENT, EVENT_MESSAGE}
)
