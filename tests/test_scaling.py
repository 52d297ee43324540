"""The model of cost for many workers, and the simulation that checks it."""

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("distributed")
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def simulation():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import scaling_simulation

        yield scaling_simulation


@pytest.fixture(scope="module")
def model(simulation):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import scaling_model

        yield scaling_model


@pytest.fixture(scope="module")
def runs(simulation):
    return {(n, w): simulation.record(n, w) for n, w in ((12_000, 4), (24_000, 2), (40_000, 3))}


@pytest.fixture(scope="module")
def constants(model, runs):
    return model.fitted([runs[12_000, 4][0], runs[24_000, 2][0]])


def asked(simulation, sent, received, seconds):
    nothing = dict.fromkeys(("looked_at", "support", "core", "gathered", "found", "left"), 0)
    return simulation.Round(
        "look",
        shard=1,
        **nothing,
        sent=sent,
        received=received,
        driver_seconds=0.5,
        worker_seconds=seconds,
    )


def test_messages_travel_one_after_the_other(simulation):
    network = simulation.Network(latency=1.0, handling=0.25, bandwidth=100.0)
    small = asked(simulation, 100, [300, 200], [10.0, 2.0])
    # Sent at 1.25 and 2.5, there a second later. Worker 1 is done at 5.5; its answer is at the
    # driver from 6.5 to 8.5. Worker 0 is done at 12.25; its answer from 13.25 to 16.25.
    assert simulation.seconds_of_round(small, network, [1.0, 1.0]) == pytest.approx(16.25)
    # Three times as slow: worker 0 is done 20 seconds later.
    assert simulation.simulated([small], network, 3.0).rounds == pytest.approx(36.25)
    assert simulation.simulated([small], network).driver == 0.5
    # As fast as each other, answers queue: those of worker 0 from 5.25 to 8.25, then of worker 1.
    queued = small._replace(worker_seconds=[2.0, 2.0])
    assert simulation.seconds_of_round(queued, network, [1.0, 1.0]) == pytest.approx(10.25)


@pytest.mark.parametrize(("workers", "doublings"), [(1, 0), (2, 1), (4, 2), (8, 3), (64, 6)])
def test_large_messages_are_handed_on(simulation, workers, doublings):
    network = simulation.Network(latency=0.0, handling=0.0, bandwidth=2.0**22)
    large = asked(simulation, 2**22, [0] * workers, [0.0] * workers)
    passed = simulation.seconds_of_round(large, network, [1.0] * workers)
    assert passed == pytest.approx(1 + doublings)


def test_the_simulation_runs_the_algorithm(simulation, runs):
    one, several = simulation.record(12_000, 1), runs[12_000, 4]
    for rounds, result in (one, several):
        assert result.certificate.gap <= simulation.TOL
        assert [r.question for r in rounds[:2]] == ["extent", "look"]
        assert all(min(r.worker_seconds) > 0 for r in rounds if r.question == "look")
    # Looks at the same rows, which travel once from wherever they are.
    for mine, other in zip(one[0], several[0], strict=True):
        assert mine.looked_at == other.looked_at
        assert mine.found == pytest.approx(other.found, rel=0.01)
    assert several[1].weights.size == pytest.approx(one[1].weights.size, rel=0.01)


def test_levels_are_those_of_the_solver(model, runs):
    for (n_rows, _), (rounds, _) in runs.items():
        looked_at = [r.looked_at for r in rounds if r.question == "look"]
        levels = model.levels_of(n_rows)
        assert len(looked_at) == len(levels) - 1
        for found, low, high in zip(looked_at, levels, levels[1:], strict=False):
            assert found == pytest.approx(high - low, abs=6 * (high - low) ** 0.5)


def test_the_model_foretells_a_larger_fit(simulation, model, runs, constants):
    rounds, result = runs[40_000, 3]
    network = simulation.Network(1e-3, 1e-3, 1e9)
    setting = model.Setting(40_000, 3, simulation.FEATURES, network)
    steps = model.steps_of(setting, constants)
    cost = model.cost(setting, steps)
    assert abs(len(steps) - len(rounds)) <= 2
    assert model.support_vectors(setting, constants) == pytest.approx(len(result.rows), rel=0.1)
    assert cost.sent == pytest.approx(sum(r.sent for r in rounds), rel=0.2)
    assert cost.received == pytest.approx(sum(sum(r.received) for r in rounds), rel=0.2)
    assert cost.seconds == pytest.approx(simulation.simulated(rounds, network).seconds, rel=0.6)


def test_what_makes_the_model_slower(simulation, model, constants):
    near = simulation.Network(1e-3, 1e-3, 1e9)
    setting = model.Setting(10**7, 10, simulation.FEATURES, near)

    def cost(**changes):
        other = replace(setting, **changes)
        return model.cost(other, model.steps_of(other, constants))

    usual = cost()
    assert usual.seconds == usual.driver + usual.scan + usual.communication
    assert cost(slowest=4.0).scan == pytest.approx(4 * usual.scan)
    assert cost(worker_threads=4).scan == pytest.approx(usual.scan / 4)
    assert cost(driver_threads=2).driver == pytest.approx(usual.driver / 2)
    assert cost(workers=20).scan < usual.scan
    assert cost(workers=20).driver == usual.driver
    assert cost(workers=20).communication > usual.communication
    assert cost(network=replace(near, bandwidth=1e6)).communication > 10 * usual.communication
    fewer = replace(setting, support=1000.0)
    assert model.support_vectors(fewer, constants) == pytest.approx(1000)
    assert cost(support=1000.0).seconds < 0.1 * usual.seconds
