"""What looks ahead in a session: a flow, the routes of a project, or both."""
