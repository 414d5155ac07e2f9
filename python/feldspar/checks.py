"""What every learner promises, as a battery of checks.

Learners that feldspar exports are checked by its own tests; a learner of your own (a subclass of
:class:`feldspar.learners._base.MarkovLearner`) passes if `check_learner` returns.

A check is a function of a learner with few settings to try; it returns, or raises
``AssertionError`` saying what was expected. None takes more than a second or two with a learner
that is quick on a hundred rows.
"""

from __future__ import annotations

import inspect
import pickle
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias
from unittest import mock

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import check_estimator

from feldspar import learners
from feldspar._frames import Backend
from feldspar.learners._base import MarkovLearner
from feldspar.learners._search import Search
from feldspar.missing import MissingValuesWarning
from feldspar.network import MarkovNetwork
from feldspar.table import Table
from feldspar.weights import listed

__all__ = ["CHECKS", "EXPECTED_FAILED_CHECKS", "all_learners", "check_learner", "quick"]

Learner: TypeAlias = Any  # a MarkovLearner or a DependencyNetwork: scikit-learn has no types
Check: TypeAlias = Callable[[Learner], None]

# Of scikit-learn's own checks, those that do not apply, and why.
EXPECTED_FAILED_CHECKS: Mapping[str, str] = {
    "check_sample_weight_equivalence_on_dense_data": (
        "feeds fractions even to estimators of categorical data; "
        "check_a_weight_is_so_many_rows asks the same with codes"
    ),
}

_NAMES = ("a", "b", "c", "d", "e")
_LABELS = ((False, True), ("no", "yes"), ("high", "low", "middle"), (0, 1), ("no", "yes"))


def all_learners() -> dict[str, Learner]:
    """Return every learner that feldspar exports, each with little to try."""
    exported = {name: getattr(learners, name) for name in learners.__all__}
    return {
        name: quick(kind())
        for name, kind in exported.items()
        if isinstance(kind, type) and issubclass(kind, BaseEstimator)
    }


def quick(learner: Learner, n_values: int = 2) -> Learner:
    """Return a copy of a learner with at most so many values of each parameter to try."""
    short = {}
    for name in learner._tuned:
        values = listed(getattr(learner, name))
        middle = len(values) // 2
        kept = [*values[middle:], *values[:middle]][:n_values]
        short[name] = kept if len(kept) > 1 else kept[0]
    return clone(learner).set_params(n_jobs=1, **short)


def check_learner(learner: Learner) -> None:
    """Run every check that applies to a learner."""
    for check in CHECKS:
        check(clone(learner))


def check_scikit_learn(learner: Learner) -> None:
    """scikit-learn's `check_estimator`, but for `EXPECTED_FAILED_CHECKS`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(
            quick(learner, 1), expected_failed_checks=dict(EXPECTED_FAILED_CHECKS), on_skip=None
        )


def check_documentation(learner: Learner) -> None:
    """`help` tells of every parameter, and has an example."""
    text = inspect.getdoc(type(learner)) or ""
    _, _, described = text.partition("Parameters\n----------\n")
    names = re.findall(r"^([\w, ]+) :|^([\w, ]+)$", described, re.MULTILINE)
    told = {name.strip() for pair in names for group in pair for name in group.split(",")}
    silent = [name for name in learner.get_params(deep=False) if name not in told]
    assert not silent, f"the docstring does not describe {', '.join(silent)}"
    assert ">>> " in described, "the docstring has an example"


def check_what_a_fit_leaves(learner: Learner) -> None:
    """The learned attributes, under the names that every learner has."""
    train, valid = _tables()
    fitted = learner.fit(train, X_valid=valid)
    assert fitted is learner, "fit returns the learner itself"
    assert fitted.schema_ == train.schema
    assert fitted.n_features_in_ == len(_NAMES)
    assert fitted.feature_names_in_.tolist() == list(_NAMES)
    assert isinstance(fitted.best_params_, dict)
    assert fitted.trials_, "every trial has a row"
    for row in fitted.trials_:
        assert {"stage", "valid_pll", "n_features", "seconds"} <= set(row), row
    seconds = fitted.fit_seconds_
    assert 0 <= seconds["structure"] + seconds["weights"] <= seconds["total"]
    model = _model(fitted)
    assert model.schema == train.schema
    assert fitted.score(valid) == model.score(valid)
    np.testing.assert_allclose(fitted.score(valid), fitted.score_samples(valid).mean())
    assert np.isfinite(fitted.score(valid))
    learner.fit(train.to_numpy())
    assert not hasattr(learner, "feature_names_in_"), "codes have no names"


def check_not_fitted(learner: Learner) -> None:
    """A learner that has learned nothing says so."""
    try:
        learner.score(_rows(5, 0))
    except NotFittedError:
        return
    raise AssertionError("score before fit: expected NotFittedError")


def check_copies(learner: Learner) -> None:
    """`clone`, `repr` and pickle keep what they should."""
    params = learner.get_params()
    copy = clone(learner)
    assert _same_params(copy.get_params(), params)
    assert type(learner).__name__ in repr(learner)
    assert repr(copy) == repr(learner)
    fitted = learner.fit(_rows(100, 1))
    assert _same_params(learner.get_params(), params), "fit leaves the parameters alone"
    again = pickle.loads(pickle.dumps(fitted))
    assert _same_params(again.get_params(), params)
    assert again.score(_rows(50, 2)) == fitted.score(_rows(50, 2))
    assert repr(again) == repr(fitted)


def check_same_seed_same_network(learner: Learner) -> None:
    """Twice the same fit is twice the same network, bit for bit; also of one learner."""
    first = _content(clone(learner).fit(_rows(100, 1)))
    again = clone(learner).fit(_rows(100, 1))
    _assert_same(first, _content(again))
    _assert_same(first, _content(again.fit(_rows(100, 1))))


def check_threads(learner: Learner) -> None:
    """The number of threads changes no bit."""
    one, two = (clone(learner).set_params(n_jobs=n).fit(_rows(100, 1)) for n in (1, 2))
    _assert_same(_content(one), _content(two))
    assert one.best_params_ == two.best_params_


def check_input_is_left_alone(learner: Learner) -> None:
    """`fit` and `score` write into nothing that they are given."""
    rows, weights = _rows(100, 1), np.ones(100)
    held = rows.copy()
    rows.flags.writeable = weights.flags.writeable = False
    learner.fit(rows, sample_weight=weights).score(rows)
    np.testing.assert_array_equal(rows, held)


def check_a_weight_is_so_many_rows(learner: Learner) -> None:
    """Rows with whole weights are as good as rows that are repeated."""
    rows, valid = _rows(100, 1), _rows(50, 2)
    times = np.arange(len(rows)) % 3
    weighted = clone(learner).fit(rows, X_valid=valid, sample_weight=times)
    repeated = clone(learner).fit(np.repeat(rows, times, axis=0), X_valid=valid)
    np.testing.assert_allclose(
        weighted.score_samples(valid), repeated.score_samples(valid), atol=1e-8
    )


def check_every_kind_of_frame(learner: Learner) -> None:
    """Codes, tables, pandas, polars and Arrow give the same network; names and labels come back."""
    train, valid = _tables()
    codes = clone(learner).fit(train.to_numpy(), X_valid=valid.to_numpy())
    expected = _content(codes)
    kinds: tuple[Backend | None, ...] = (None, "pandas", "polars", "pyarrow")
    for kind in kinds:
        try:
            X, X_valid = (table if kind is None else table.to_frame(kind) for table in _tables())
        except ImportError:  # these libraries are extras
            continue
        fitted = clone(learner).fit(X, X_valid=X_valid)
        assert fitted.schema_.names == _NAMES, kind
        assert _model(fitted).schema.labels == _LABELS, kind
        assert fitted.score(X_valid) == codes.score(valid.to_numpy()), kind
        _assert_same(_content(fitted), expected)


def check_questions(learner: Learner) -> None:
    """What was learned from data with several values answers questions by name and label."""
    train, valid = _tables()
    fitted = learner.fit(train, X_valid=valid)
    drawn = _model(fitted).sample(10, random_state=0)
    assert drawn.schema == train.schema
    if not isinstance(fitted, MarkovLearner):
        return
    network = fitted.network_
    found = network.marginals({"b": "yes", "c": "middle"})
    np.testing.assert_allclose(found["a"].sum(), 1)
    assert found.probability("c", "middle") == 1
    holes = valid.to_numpy()[:10]
    holes[:, 2] = -1
    assert network.impute(holes).min() >= 0
    assert set(network.most_probable({"c": "low"}).state) == set(_NAMES)
    row = valid.to_numpy()[0]
    explanation = network.explain(row, "c")
    chances = network.conditionals([row])["c"][0]
    value, against = (
        chances[train.schema.code("c", label)] for label in (explanation.value, explanation.against)
    )
    np.testing.assert_allclose(explanation.log_odds, np.log(value / against), atol=1e-8)


def check_columns_that_say_nothing(learner: Learner) -> None:
    """A constant column, or a value that never occurs, is no reason to fail."""
    rows = _rows(100, 1)
    rows[:, 4] = 0
    sizes = [2, 2, 4, 2, 1]
    table = Table.from_array(rows, cardinalities=sizes)
    fitted = learner.fit(table)
    assert np.isfinite(fitted.score(table))
    table = Table.from_array([[0, 1, 3, 0, 0]], cardinalities=sizes)
    assert np.isfinite(fitted.score(table)), "a value that did not occur is not impossible"


def check_one_variable(learner: Learner) -> None:
    """A single variable has a distribution too."""
    rows = np.array([[0], [1], [1], [1]] * 10)
    fitted = learner.fit(rows)
    assert np.isfinite(fitted.score(rows))


def check_pipeline(learner: Learner) -> None:
    """Bins as whole floats go in; cross-validation sets parameters and scores."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[:, 1] += X[:, 0]
    bins = KBinsDiscretizer(n_bins=3, encode="ordinal", strategy="uniform")
    assert np.isfinite(make_pipeline(bins, quick(learner, 1)).fit(X).score(X))
    name = learner._tuned[0]
    values = listed(getattr(quick(learner), name))
    train, _ = _tables()
    search = GridSearchCV(quick(learner, 1), {name: values}, cv=2, error_score="raise")
    search.fit(train)
    assert np.isfinite(search.best_score_)
    assert search.best_params_[name] in values


def check_missing_values(learner: Learner) -> None:
    """Gaps in training data are told with the names of their columns, and do no harm."""
    rows = _rows(200, 1)
    rows[::5, 2] = -1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.fit(Table.from_array(rows, names=_NAMES), X_valid=_rows(50, 2))
    told = [str(w.message) for w in caught if issubclass(w.category, MissingValuesWarning)]
    assert len(told) == 1, "one warning tells of the gaps"
    assert "1 column: c (40)" in told[0]
    assert np.isfinite(learner.score(_rows(50, 2)))
    rows[:, 2] = -1
    with _expected_error(ValueError, "c (200)"):
        clone(learner).fit(Table.from_array(rows, names=_NAMES, cardinalities=[2, 2, 3, 2, 2]))


def check_time_limit(learner: Learner) -> None:
    """When the time is over, there is a network and a warning; nonsense is refused."""
    if "time_limit" not in learner.get_params():
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = clone(learner).set_params(time_limit=1e-6).fit(_rows(100, 1))
    told = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert any("time_limit" in message for message in told), "a warning tells that time was up"
    assert len(fitted.network_.weights) == len(fitted.network_.features)
    with _expected_error(ValueError, "time_limit"):
        clone(learner).set_params(time_limit=-1.0).fit(_rows(100, 1))


def check_interruption(learner: Learner) -> None:
    """Ctrl-C keeps the best network so far, or raises if that was asked for."""
    if not isinstance(learner, MarkovLearner):
        return

    def interrupting(method: Callable[..., Any]) -> Callable[..., Any]:
        def interrupted(*args: Any, **kwargs: Any) -> None:
            method(*args, **kwargs)
            raise KeyboardInterrupt

        return interrupted

    # After whichever of the two gives the first network.
    with (
        mock.patch.object(Search, "offer", interrupting(Search.offer)),
        mock.patch.object(Search, "learn_weights", interrupting(Search.learn_weights)),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted = clone(learner).set_params(on_interrupt="return").fit(_rows(100, 1))
        assert any("interrupted" in str(warning.message) for warning in caught)
        assert isinstance(fitted.network_, MarkovNetwork)
        with _expected_error(KeyboardInterrupt, ""):
            clone(learner).set_params(on_interrupt="raise").fit(_rows(100, 1))


CHECKS: tuple[Check, ...] = (
    check_scikit_learn,
    check_documentation,
    check_what_a_fit_leaves,
    check_not_fitted,
    check_copies,
    check_same_seed_same_network,
    check_threads,
    check_input_is_left_alone,
    check_a_weight_is_so_many_rows,
    check_every_kind_of_frame,
    check_questions,
    check_columns_that_say_nothing,
    check_one_variable,
    check_pipeline,
    check_missing_values,
    check_time_limit,
    check_interruption,
)


def _rows(n: int, seed: int) -> npt.NDArray[np.int64]:
    """Five variables, one of them with three values: a chain, and an exclusive or."""
    random = np.random.default_rng(seed)
    a = random.random(n) < 0.4
    b = np.where(random.random(n) < 0.8, a, ~a)
    c = random.integers(0, 3, n)
    d = (a ^ (c == 2)) ^ (random.random(n) < 0.1)
    e = random.random(n) < 0.3
    return np.column_stack([a, b, c, d, e]).astype(np.int64)


def _tables() -> tuple[Table, Table]:
    train = Table.from_array(_rows(100, 1), names=_NAMES, labels=_LABELS)
    return train, Table.from_array(_rows(50, 2), schema=train.schema)


def _model(fitted: Learner) -> Any:
    return fitted.network_ if isinstance(fitted, MarkovLearner) else fitted


def _content(fitted: Learner) -> list[npt.NDArray[Any]]:
    """Return what was learned, without names and labels."""
    if isinstance(fitted, MarkovLearner):
        return [*fitted.network_.features._core.flatten(), fitted.network_.weights]
    return [fitted.conditionals(_rows(50, 3)).probabilities]


def _assert_same(one: list[npt.NDArray[Any]], other: list[npt.NDArray[Any]]) -> None:
    for mine, yours in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, yours)


def _same_params(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return repr(one) == repr(other)


@contextmanager
def _expected_error(kind: type[BaseException], part: str) -> Iterator[None]:
    """Expect an error that names something."""
    message = None
    try:
        yield
    except kind as error:
        message = str(error)
    assert message is not None, f"expected {kind.__name__}"
    assert part in message, f"expected a message that names {part!r}, got: {message}"
