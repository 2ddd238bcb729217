"""What a user starts: commands on a terminal, and the same work as Prefect flows.

    cli ─────────────► commands ─ asked ─► flows: prepare, measure, contamination, size, probe
                          │                  └─ prefect: server, tasks, artifacts ─► pools
                          └─ show: paragraphs and tables on the terminal

Open `cli` first, then `commands.prepare` and `prepare`. A command asks, checks and plans before
Prefect is imported, and runs the flow in its own process; a deployment runs the flow alone.
"""
