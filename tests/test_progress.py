"""What a fit shows while it runs: the table and the callbacks."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from svc import each_solver, make_data

from fwsvm import SVC
from fwsvm.progress import HAS_CALLBACKS

# --------------------------------------------------------------------------------- what a fit shows


@each_solver
def test_verbose_prints_a_table(solver, capsys):
    X, y = make_data(100, 3)
    model = SVC(verbose=1, solver=solver, tol=1e-2).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    titles = [line for line in lines if "against" in line]
    assert titles[0].startswith("0 against 1: ")
    assert len(titles) == 3
    header = lines[1]
    for word in ("iteration", "objective", "gap", "active", "kernel evaluations", "seconds"):
        assert word in header
    assert len(lines) == 2 * 3 + sum(len(trace) for trace in model.trace_)
    iteration, objective = lines[-1].split()[:2]
    assert int(iteration) == model.trace_[-1][-1].iteration
    assert float(objective) == pytest.approx(model.trace_[-1][-1].objective, rel=1e-5)
    SVC(solver=solver, tol=1e-2).fit(X, y)
    assert capsys.readouterr().out == ""


class Recorder:
    """A callback that writes down what it hears, and may ask to stop."""

    def __init__(self, stop=False):
        self.stop, self.events = stop, []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.events.append(("end", context.task_name, context.task_id))
        if fitted_estimator is not None:
            assert len(fitted_estimator.predict(X)) == len(X)
            self.events.append("scored")
        return self.stop


with_callbacks = pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn 1.9 has callbacks")


@with_callbacks
def test_callbacks_hear_of_every_binary_problem():
    X, y = make_data(100, 3)
    recorder = Recorder()
    SVC().set_callbacks(recorder).fit(X, y)
    problems = [(what, "binary problem", k) for k in range(3) for what in ("begin", "end")]
    fit = [("begin", "fit", 0), *problems, ("end", "fit", 0), "scored"]
    assert recorder.events == ["setup", *fit, "teardown"]


@with_callbacks
def test_callbacks_hear_of_every_line_of_one_problem():
    X, y = make_data(100)
    recorder = Recorder()
    model = SVC().set_callbacks(recorder).fit(X, y)
    ends = [event for event in recorder.events if event[:2] == ("end", "line of the trace")]
    assert len(ends) == len(model.trace_[0])


@with_callbacks
@pytest.mark.parametrize("n_classes", [2, 3])
def test_callbacks_may_stop_the_fit(n_classes):
    X, y = make_data(200, n_classes)
    model = SVC(C=100.0, tol=1e-9, solver="mfw").set_callbacks(Recorder(stop=True))
    with pytest.warns(ConvergenceWarning, match="a callback asked to stop"):
        model.fit(X, y)
    assert model.status_[-1] == "stopped"
    assert model.n_iter_[-1] == 1
    assert np.isfinite(model.decision_function(X)).all()


@with_callbacks
def test_scikit_learns_own_callbacks_work(capsys):
    from sklearn.callback import ProgressBar, ScoringMonitor

    X, y = make_data(100, 3)
    monitor = ScoringMonitor(scoring="accuracy")
    model = SVC().set_callbacks(ProgressBar(), monitor).fit(X, y)
    assert "SVC - fit" in capsys.readouterr().out
    scores = [row["accuracy"] for row in monitor.get_logs().data if "accuracy" in row]
    assert scores == [model.score(X, y)]
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2).set_callbacks(ProgressBar())
    search.fit(X, y)
    assert "GridSearchCV" in capsys.readouterr().out


@with_callbacks
def test_callbacks_are_torn_down_when_fit_fails():
    X, y = make_data(100)
    recorder = Recorder()

    def broken(A, B):
        raise RuntimeError("no kernel")

    with pytest.raises(RuntimeError, match="no kernel"):
        SVC(kernel=broken).set_callbacks(recorder).fit(X, y)
    assert recorder.events[-1] == "teardown"
