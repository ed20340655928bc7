"""A scripted agent that commits files to git repositories, over an MCP server, and records each session.

``python examples/committer_agent.py FIRST-LAST FILE DIRECTORY COMMAND...`` makes a repository with a new report for
each number in the directory, has it committed over the server that the command starts, and adds the session to the
file. Without a command the repository is only made.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from clerk_agent import Server  # type: ignore[import-not-found]  # beside this file

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")


def make_repository(place: Path, number: int) -> tuple[Path, str]:
    """A repository with one commit and a report that is not committed; and the report's name."""
    repository = place / f"office-{number}"
    repository.mkdir(parents=True)
    name = f"report-{MONTHS[number - 1].lower()}.md"
    git = ["git", "-c", "init.defaultBranch=main", "-C", str(repository)]
    subprocess.run([*git, "init", "--quiet"], check=True)  # noqa: S603 - our own words
    for key, value in (("user.name", "Clerk"), ("user.email", "clerk@example.com")):
        subprocess.run([*git, "config", key, value], check=True)  # noqa: S603 - our own words
    (repository / "README.md").write_text(f"Office {number}\n", encoding="utf-8")
    subprocess.run([*git, "add", "README.md"], check=True)  # noqa: S603 - our own words
    subprocess.run([*git, "commit", "--quiet", "-m", "Begin"], check=True)  # noqa: S603 - our own words
    (repository / name).write_text(f"# {MONTHS[number - 1]}\n", encoding="utf-8")
    return repository, name


def main(numbers: str, path: str, place: str, *command: str) -> int:
    """Commit some of the reports."""
    first, last = (int(number) for number in numbers.split("-"))
    for number in range(first, last + 1):
        repository, name = make_repository(Path(place).resolve(), number)
        if not command:
            continue
        message = f"Add the report of {MONTHS[number - 1]}"
        server = Server([*command], f'Commit {name} in {repository} with the message "{message}"')
        server.call("git_status", repo_path=str(repository))
        server.call("git_add", repo_path=str(repository), files=[name])
        done = server.call("git_commit", repo_path=str(repository), message=message)
        server.say(done)
        server.record(
            path,
            session=f"committer-{number:02}",
            source="examples/committer_agent.py",
            agent="committer-agent/scripted",
            domain="git",
            task=f"commit-{number:02}",
        )
    print(f"{last - first + 1} reports {'committed' if command else 'written'}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 4:  # noqa: PLR2004 - three words at least
        print(__doc__)
        sys.exit()
    sys.exit(main(*sys.argv[1:]))
