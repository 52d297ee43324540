"""Results as if the experiments had been run: the times are those that the test asks for."""


def fill(results, job, *, seconds, accuracy=lambda cell: 90.0, status=lambda cell: "ok"):
    """Runs the missing cells of a job in imagination, until nothing is missing."""
    from experiments.plan import missing

    number = results.number_of({"cpu": "imagined", "threads": 1})
    while cells := missing(job, results):
        results.add(cells[0], row_of(cells[0], seconds, accuracy, status), number)
    return results


def row_of(cell, seconds, accuracy, status):
    took = min(seconds(cell), cell.limit)
    is_stopped = took == cell.limit
    if status(cell) != "ok":
        return {"status": status(cell), "commit": "c", "date": "2000-01-01 00:00"}
    return {
        "status": "ok",
        "accuracy": accuracy(cell),
        "solver_seconds": took,
        "certificate_seconds": 0.0,
        "fit_seconds": took,
        "fit_wall_seconds": took,
        "predict_seconds": 0.0,
        "gap": 1e-3 if cell.solver in ("cvm", "auto") else 0.5,
        "median_gap": 1e-3,
        "statuses": {"max_time" if is_stopped else "rule_holds": 1},
        "iterations": 100,
        "kernel_evaluations": 10_000,
        "n_support": 50,
        "n_train": 1000,
        "n_test": 1000,
        "commit": "c",
        "date": "2000-01-01 00:00",
    }


def without_gamma(monkeypatch):
    """Plans without the data sets."""
    from experiments import plan

    monkeypatch.setattr(plan, "gamma", lambda name: 0.1)
