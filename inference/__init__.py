"""How candidates come about: engines, dialects (prompts, parsing), strategies. Knows nothing of how they are judged."""
