"""The tools as data: what each is told to a model as, how it validates, what effect it prepares."""
