"""A whole agent loop with procedure memory: a scripted agent that looks around the same way before every edit.

Run it in any directory; it makes a small project in a temporary one. It prints what was learned and which reads rode
in an earlier result.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from waggle import Call, Manager, ManagerConfig, Result

HABIT = [("LS", {"path": "."}), ("Read", {"file_path": "README.md"}), ("Read", {"file_path": "app.py"})]


def run_tool(project: Path, tool: str, args: dict[str, str]) -> Result:
    """The host's own tools: what it would call anyway, with its own checks."""
    if tool == "LS":
        return Result("\n".join(sorted(path.name for path in (project / args["path"]).iterdir())))
    if tool == "Read":
        return Result((project / args["file_path"]).read_text(encoding="utf-8"))
    (project / args["file_path"]).write_text(args["content"], encoding="utf-8")
    return Result("written")


def main() -> None:
    """Work on six tasks in one conversation; from the fourth on, the second read is there before it is asked for."""
    with tempfile.TemporaryDirectory() as place:
        project = Path(place)
        (project / ".git").mkdir()
        (project / "README.md").write_text("How to run it.\n", encoding="utf-8")
        (project / "app.py").write_text("print('hello')\n", encoding="utf-8")
        with Manager.for_project(project, config=ManagerConfig(sweep_calls=1)) as manager:
            session = manager.session("conversation-1")
            for task in range(1, 7):
                turns, known = 0, set[str]()
                for tool, args in [*HABIT, ("Write", {"file_path": "app.py", "content": f"print({task})\n"})]:
                    if f"{tool} {args}" in known:
                        continue  # its result came with an earlier one: the agent need not ask
                    turns += 1
                    result = run_tool(project, tool, args)
                    session.observe(Call(tool, args), result)
                    fold = session.follow(lambda name, given: run_tool(project, name, given))
                    known |= {f"{one.tool} {one.args}" for one in fold.lookups} if fold else set()
                saved = f", saved {len(known)}: {', '.join(sorted(known))}" if known else ""
                print(f"task {task}: {turns} turns{saved}")
            manager.flush(5)
            skills = sorted(path.parent.name for path in (project / ".waggle" / "skills").glob("*/SKILL.md"))
            print(f"learned: {', '.join(skills)}")


if __name__ == "__main__":
    main()
