"""Google ADK with procedure memory: a scripted model looks up the same two orders again and again, then ships one.

`pip install 'waggle-stretto[google-adk]'`, then run it anywhere. It prints the last round as the model saw it: the
second order is there before it is asked for.
"""

from __future__ import annotations

import asyncio
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from waggle import Manager, ManagerConfig
from waggle.integrations.google_adk import WagglePlugin

ROUND: list[tuple[str, dict[str, str]]] = [
    ("order", {"number": "7"}),
    ("customer", {"name": "ada"}),
    ("order", {"number": "8"}),
    ("ship", {"number": "7"}),
]
CALLS = iter(ROUND * 6)


def order(number: str) -> str:
    """Look up an order."""
    return f"order {number}: two lamps"


def customer(name: str) -> str:
    """Look up a customer."""
    return f"customer {name}: pays in time"


def ship(number: str) -> str:
    """Send an order."""
    return f"order {number} is on its way"


class Scripted(BaseLlm):
    """Stands for a language model: asks for one call after the other, then shows what it was shown last."""

    async def generate_content_async(self, request: Any, stream: bool = False) -> Any:  # noqa: ARG002, FBT001, FBT002 - the framework's names
        """Ask for the next call."""
        call = next(CALLS, None)
        if call:
            part = types.Part.from_function_call(name=call[0], args=call[1])
        else:
            parts = [part for content in request.contents for part in content.parts if part.function_response]
            shown = [str(value) for part in parts[-4:] for value in part.function_response.response.values()]
            part = types.Part.from_text(text="\n\n".join(shown))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main() -> None:
    """Learn in one conversation; a `Manager.for_project()` would remember it for the next."""
    manager = Manager(ManagerConfig(sweep_calls=1))
    manager.tools.allow("order", "customer")  # the user's word that these only read
    agent = LlmAgent(name="clerk", model=Scripted(model="scripted"), tools=[order, customer, ship])
    runner = InMemoryRunner(app=App(name="shop", root_agent=agent, plugins=[WagglePlugin(manager)]))
    session = await runner.session_service.create_session(app_name="shop", user_id="ada")
    hello = types.Content(role="user", parts=[types.Part.from_text(text="send the orders")])
    async for event in runner.run_async(user_id="ada", session_id=session.id, new_message=hello):
        if event.is_final_response():
            print(event.content.parts[0].text)


if __name__ == "__main__":
    asyncio.run(main())
