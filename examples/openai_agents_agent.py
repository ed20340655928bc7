"""An agent of the OpenAI Agents SDK that looks up the same things for every customer, with the SDK's scripted model.

``pip install 'waggle-stretto[openai-agents]'``. It prints the output in which the next read came along.
"""

from __future__ import annotations

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from waggle import Manager, ManagerConfig
from waggle.integrations.openai_agents import watch_agent

HABIT = [("orders_of", "ada"), ("order", "7"), ("order", "8"), ("ship", "7")] * 6


@function_tool
def orders_of(key: str) -> str:
    """List the orders of a customer."""
    return f"{key} has ordered 7 and 8"


@function_tool
def order(key: str) -> str:
    """Look at an order."""
    return f"order {key} is packed"


@function_tool
def ship(key: str) -> str:
    """Send an order."""
    return f"order {key} is on its way"


def main() -> None:
    """Serve the same customer six times in one conversation."""
    manager = Manager(ManagerConfig(sweep_calls=1))  # in memory; Manager.for_project() keeps what is learned
    manager.tools.allow("orders_of", "order")
    calls = [[function_call(tool, {"key": key}, call_id=str(at))] for at, (tool, key) in enumerate(HABIT)]
    model = ScriptedModel([*calls, [assistant_message("done")]])
    agent = watch_agent(Agent("clerk", model=model, tools=[orders_of, order, ship]), manager)
    options = RunConfig(group_id="conversation-1", tracing_disabled=True)
    done = Runner.run_sync(agent, "Serve Ada.", max_turns=100, run_config=options)
    shown = [str(item.output) for item in done.new_items if item.type == "tool_call_output_item"]
    print(next(text for text in shown if "<waggle-fold>" in text))


if __name__ == "__main__":
    main()
