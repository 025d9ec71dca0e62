"""One module a job, and the adapters to Hydra, Ray and W&B. They wire the parts and hold no logic of their own."""
