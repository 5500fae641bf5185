"""Reply to actions and back, pure: native tool calls, one JSON object, six-verb text."""
