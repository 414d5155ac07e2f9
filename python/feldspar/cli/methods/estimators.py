"""The learners: scikit-learn estimators as methods of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from feldspar.cli.methods.conjunctions import MIN_SUPPORT
from feldspar.cli.methods.method import Learned, Method, Need, Task
from feldspar.cli.methods.penalties import L1, MAX_ITERATIONS, PRIOR_SD, TIME_LIMIT, TOLERANCE

_COMMON = (PRIOR_SD, MAX_ITERATIONS, TOLERANCE, TIME_LIMIT)
_EXHAUSTIVE = click.Option(
    ["--exhaustive"],
    is_flag=True,
    default=None,
    help="Try every setting, and learn all weights to the end, also those that cannot be the best.",
)
_TUNED = (*_COMMON, _EXHAUSTIVE)
_SEVERAL = "Given several times: all are tried."
_POSITIVE = click.FloatRange(min=0, min_open=True)

_KAPPA = click.Option(
    ["--kappa"],
    type=click.FloatRange(min=0, min_open=True, max=1),
    multiple=True,
    help=f"Structure prior of the trees; smaller is simpler. {_SEVERAL}  "
    "[1e-4, 1e-3, 1e-2, 1e-1, 1]",
)
_MIN_LEAF_WEIGHT = click.Option(
    ["--min-leaf-weight"], type=_POSITIVE, help="Least number of rows in a leaf of a tree.  [10]"
)
_LEAF_PRIOR = click.Option(
    ["--leaf-prior"], type=_POSITIVE, help="Added to each count in a leaf of a tree.  [1]"
)
_CONVERSION = click.Option(
    ["--conversion"],
    type=click.Choice(["default", "prune", "prune-10", "prune-5", "nonzero"]),
    multiple=True,
    help=f"How trees become features. {_SEVERAL}  [all five]",
)


def _zero_values(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str] | None:
    pairs = [text.partition("=") for text in texts]
    for text, (_, equals, _) in zip(texts, pairs, strict=True):
        if not equals:
            raise click.BadParameter(f"expected NAME=VALUE, got {text!r}", context, parameter)
    return {name: value for name, _, value in pairs} or None


_ZERO_VALUES = click.Option(
    ["--zero-value", "zero_values"],
    metavar="NAME=VALUE",
    multiple=True,
    callback=_zero_values,
    help="A variable's value that the conversion nonzero leaves out; may be repeated.  "
    "[the first value of each]",
)
_C = click.Option(
    ["--C", "C"],
    type=_POSITIVE,
    multiple=True,
    help="What the loss counts against the L1 penalty of a logistic regression; smaller is "
    f"sparser. {_SEVERAL}  [0.001 to 5]",
)
_RULE = click.Option(
    ["--rule"],
    type=click.Choice(["or", "and"]),
    multiple=True,
    help=f"Whether one or both of two variables must name the other. {_SEVERAL}  [both]",
)
_SELECTION = click.Option(
    ["--selection"],
    type=click.Choice(["validation", "ebic"]),
    help="How C is chosen: by validation rows, or by EBIC for each variable.  [validation]",
)
_GAMMA = click.Option(["--gamma"], type=click.FloatRange(min=0), help="Of the EBIC.  [0.25]")
_SOLVER = click.Option(
    ["--solver"],
    type=click.Choice(["coordinate", "owlqn"]),
    help="Of the logistic regressions.  [coordinate]",
)
_CPD = click.Option(
    ["--cpd"],
    type=click.Choice(["tree", "logistic"]),
    help="What predicts each variable from the others.  [tree]",
)
_ORDERS = click.Option(
    ["--orders"],
    type=click.Choice(["opposite-rotations", "rotations", "opposite", "one"]),
    help="The orders of the variables to average over.  [opposite-rotations]",
)
_BASE = click.Option(
    ["--base"],
    type=click.Choice(["marginals", "mode", "uniform"]),
    help="The base states to average over.  [marginals]",
)
_RELEARN = click.Option(
    ["--relearn"], is_flag=True, default=None, help="Learn the weights anew after the structure."
)
_SCHEME = click.Option(
    ["--scheme"],
    type=click.Choice(["gain", "grad", "simple"]),
    help="By what grafting introduces features: gain of each, gradient or mutual information.  "
    "[gain]",
)
_PENALTY = click.Option(
    ["--penalty"],
    type=click.Choice(["l1", "l2", "none"]),
    help="Of grafting: L1 with the Gaussian prior beside it, only that, or nothing.  [l1]",
)
_INFERENCE = click.Option(
    ["--inference"],
    type=click.Choice(["auto", "exact", "bp", "gibbs"]),
    help="Where the likelihood's expectations come from.  [auto]",
)
_N_ADD = click.Option(
    ["--n-add"], type=click.IntRange(min=1), help="Features introduced at a time.  [10]"
)
_MAX_FEATURES = click.Option(
    ["--max-features"], type=click.IntRange(min=1), help="Features introduced at most.  [no limit]"
)
_ALPHA = click.Option(
    ["--alpha"],
    type=click.FloatRange(min=0),
    multiple=True,
    help="What a test of a feature costs, in log-likelihood; larger is simpler. Of busl: the level "
    f"of its tests of independence. {_SEVERAL}  [blm: 30, 10, 3, 1; dtblm, topdown: 10, 3, 1, 0.3; "
    "busl: 0.05, 0.01, 0.001]",
)
_RELEARN_EVERY = click.Option(
    ["--relearn-every"],
    type=click.IntRange(min=1),
    multiple=True,
    help=f"All weights are relearned after so many changes. {_SEVERAL}  [25]",
)
_INITIAL = click.Option(
    ["--initial"],
    type=click.Choice(["positive", "full"]),
    multiple=True,
    help="What an example becomes at first: its values other than the first, or all. For gssl, "
    "given twice: both are tried.  [blm: positive; gssl: both]",
)
_NEIGHBORS = click.Option(
    ["--neighbors"],
    type=click.IntRange(min=1),
    multiple=True,
    help="Numbers of nearest examples to generalise to, ascending.  "
    "[1, 2, 5, 10, 20, 25, 50, 100, 200]",
)
_DISTANCE = click.Option(
    ["--distance"],
    type=click.Choice(["gvdm", "hamming"]),
    help="How far an example is from a feature.  [gvdm]",
)
_POWER = click.Option(
    ["--power"], type=click.IntRange(min=1), help="The exponent of the distance gvdm.  [1]"
)
_CHECKPOINT = click.Option(
    ["--checkpoint"],
    type=click.Path(dir_okay=False),
    help="A file in which the search is kept while it runs, and from which it goes on.",
)
_CHECKPOINT_EVERY = click.Option(
    ["--checkpoint-every"],
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Between two writes of the checkpoint.  [60]",
)
_ADDITIONS = click.Option(
    ["--additions"],
    type=click.IntRange(min=1),
    multiple=True,
    help=f"Most features that a round adds. {_SEVERAL}  [10]",
)
_TESTS = click.Option(
    ["--tests"],
    type=click.Choice(["positive", "full"]),
    multiple=True,
    help="What topdown conjoins features with: tests of values other than the first, or of all. "
    f"{_SEVERAL}  [positive]",
)
_ANNEAL = click.Option(
    ["--anneal"],
    type=click.FloatRange(min=0, max=1, max_open=True),
    help="What grafting multiplies the L1 penalty by on its way down; 0: no way.  [0.5]",
)
_MIN_GRADIENT = click.Option(
    ["--min-gradient"],
    type=click.FloatRange(min=0),
    help="Least gradient, in rows, of a feature to introduce without L1.  "
    "[half the square root of the rows]",
)
_MAX_TABLE_ENTRIES = click.Option(
    ["--max-table-entries"], type=click.FloatRange(min=1), help="Of exact inference.  [2**22]"
)
_N_STATES = click.Option(
    ["--n-states"], type=click.IntRange(min=1), help="Gibbs samples for one estimate.  [10000]"
)
_GRAFTING = (
    _SCHEME,
    _PENALTY,
    L1,
    _INFERENCE,
    _N_ADD,
    _MAX_FEATURES,
    _ANNEAL,
    _MIN_GRADIENT,
    _RELEARN,
    _MAX_TABLE_ENTRIES,
    _N_STATES,
)
_N_GENERATED = click.Option(
    ["--n-generated"],
    type=click.IntRange(min=1),
    multiple=True,
    help=f"How many conjunctions to generate. {_SEVERAL}  [0.5, 1, 2 and 5 million]",
)
_THRESHOLD = click.Option(
    ["--threshold"],
    type=click.IntRange(min=0),
    multiple=True,
    help=f"A conjunction generated more often is a feature. {_SEVERAL}  [1, 2, 5]",
)
_TUNING = click.Option(
    ["--tuning"],
    type=click.Choice(["staged", "grid"]),
    help="Whether penalties are tried for the best feature set or for all.  [staged]",
)
_MIN_GAIN = click.Option(
    ["--min-gain"], type=_POSITIVE, help="What a feature must add to the log-likelihood.  [3]"
)
_MAX_LENGTH = click.Option(
    ["--max-length"], type=click.IntRange(min=2), help="Most variables in a feature.  [busl: 3]"
)
_TEST = click.Option(["--test"], type=click.Choice(["g", "chi2"]), help="Of independence.  [g]")
_MIN_WEIGHT_PER_DEGREE = click.Option(
    ["--min-weight-per-degree"],
    type=_POSITIVE,
    help="Rows that a test of independence needs for each degree of freedom.  [5]",
)
_MAX_BLANKET = click.Option(
    ["--max-blanket"], type=click.IntRange(min=1), help="Most variables in a blanket.  [20]"
)
_MAX_ADDITIONS = click.Option(
    ["--max-additions"], type=click.IntRange(min=1), help="Most features added at once.  [100]"
)
_TREES = (_KAPPA, _MIN_LEAF_WEIGHT, _LEAF_PRIOR)
_BOTTOM_UP = (
    _ALPHA,
    _RELEARN_EVERY,
    _NEIGHBORS,
    _DISTANCE,
    _POWER,
    _CHECKPOINT,
    _CHECKPOINT_EVERY,
)
_L1 = (_C, _RULE, _SELECTION, _GAMMA, _SOLVER)

_EBIC = Need((_GAMMA,), "--selection ebic", lambda given: given.get("selection") == "ebic")
_REGRESSIONS = Need((_C, _SOLVER), "--cpd logistic", lambda given: given.get("cpd") == "logistic")
_NO_REGRESSIONS = Need(_TREES, "--cpd tree", lambda given: given.get("cpd", "tree") == "tree")
_NEW_WEIGHTS = Need(
    (PRIOR_SD, MAX_ITERATIONS, TOLERANCE), "--relearn", lambda given: "relearn" in given
)
_KEPT = Need((_CHECKPOINT_EVERY,), "--checkpoint", lambda given: "checkpoint" in given)
_GVDM = Need((_POWER,), "--distance gvdm", lambda given: given.get("distance", "gvdm") == "gvdm")
_L1_PENALTY = Need((L1, _ANNEAL), "--penalty l1", lambda given: given.get("penalty", "l1") == "l1")


def _learned(learner: Any, task: Task) -> Learned:
    learner.set_params(
        random_state=task.seed, n_jobs=task.n_jobs, verbose=True, on_interrupt="raise"
    )
    learner.fit(task.train, X_valid=task.valid)
    return Learned(
        network=learner.network_,
        valid_pll=learner.valid_pll_,
        settings=_plain_params(learner),
        best_params=learner.best_params_,
        trials=learner.trials_,
    )


def _plain_params(learner: Any) -> dict[str, Any]:
    """Return the hyper-parameters of a learner and of those within it."""
    return {
        name: _plain_params(value) if hasattr(value, "get_params") else value
        for name, value in learner.get_params(deep=False).items()
        if name not in ("n_jobs", "verbose", "on_interrupt")
    }


def _split(options: Mapping[str, Any], own: tuple[click.Option, ...]) -> dict[str, Any]:
    """Return those of the options given that belong to a part of a method."""
    names = {option.name for option in own}
    return {name: value for name, value in options.items() if name in names}


def _coded(options: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """Return options with the texts of ``--zero-value`` as labels, which may be numbers."""
    given = options.get("zero_values")
    if given is None:
        return dict(options)
    schema = task.train.schema
    labels = {name: schema.label_of_text(name, text) for name, text in given.items()}
    return {**options, "zero_values": labels}


def _learn_dtsl(task: Task, options: Mapping[str, Any]) -> Learned:
    from feldspar.learners import DTSL

    return _learned(DTSL(**_coded(options, task)), task)


def _learn_l1(task: Task, options: Mapping[str, Any]) -> Learned:
    from feldspar.learners import L1Neighborhood

    return _learned(L1Neighborhood(**options), task)


def _learn_dtl1(task: Task, options: Mapping[str, Any]) -> Learned:
    from feldspar.learners import DTL1, DTSL, L1Neighborhood

    shared = {**_split(options, _TUNED)}
    shared.pop("time_limit", None)  # for all steps together
    trees = _split(_coded(options, task), (*_TREES, _CONVERSION, _ZERO_VALUES))
    dtsl = DTSL(**trees, **shared)
    l1 = L1Neighborhood(**_split(options, _L1), **shared)
    return _learned(DTL1(dtsl=dtsl, l1=l1, **_split(options, _TUNED)), task)


def _learn_gssl(task: Task, options: Mapping[str, Any]) -> Learned:
    from feldspar.learners import GSSL

    return _learned(GSSL(**options), task)


def _learn_busl(task: Task, options: Mapping[str, Any]) -> Learned:
    from feldspar.learners import BUSL

    return _learned(BUSL(**options), task)


def _learn_independent(task: Task, options: Mapping[str, Any]) -> Learned:
    from feldspar.learners import Independent

    return _learned(Independent(**options), task)


def _learn_dn2mn(task: Task, options: Mapping[str, Any]) -> Learned:
    from feldspar.learners import DN2MN

    return _learned(DN2MN(**options), task)


def _learn_grafting(task: Task, options: Mapping[str, Any]) -> Learned:
    from feldspar.learners import Grafting

    return _learned(Grafting(**options), task)


def _learn_blm(task: Task, options: Mapping[str, Any]) -> Learned:
    from feldspar.learners import BLM

    initial = options.get("initial")
    if initial is not None and not isinstance(initial, str):
        if len(initial) != 1:
            raise click.UsageError("--method blm takes one --initial.")
        options = {**options, "initial": initial[0]}
    return _learned(BLM(**options), task)


def _learn_dtblm(task: Task, options: Mapping[str, Any]) -> Learned:
    from feldspar.learners import DTBLM, DTSL

    shared = {**_split(options, _TUNED)}
    shared.pop("time_limit", None)  # for both steps together
    dtsl = DTSL(**_split(options, (*_TREES, _CONVERSION)), **shared)
    return _learned(DTBLM(dtsl=dtsl, **_split(options, (*_BOTTOM_UP, *_TUNED))), task)


def _learn_topdown(task: Task, options: Mapping[str, Any]) -> Learned:
    from feldspar.learners import TopDown

    return _learned(TopDown(**options), task)


DTSL_METHOD = Method(
    name="dtsl",
    summary="features from decision trees",
    options=(*_TREES, _CONVERSION, _ZERO_VALUES, *_TUNED),
    learn=_learn_dtsl,
)
L1_METHOD = Method(
    name="l1",
    summary="pairs found by L1 logistic regression",
    options=(*_L1, *_TUNED),
    learn=_learn_l1,
    needs=(_EBIC,),
)
DTL1_METHOD = Method(
    name="dtl1",
    summary="dtsl and l1 together",
    options=(*_TREES, _CONVERSION, _ZERO_VALUES, *_L1, *_TUNED),
    learn=_learn_dtl1,
    needs=(_EBIC,),
)
DN2MN_METHOD = Method(
    name="dn2mn",
    summary="trees or regressions converted in closed form",
    options=(_CPD, *_TREES, _C, _SOLVER, _ORDERS, _BASE, _RELEARN, *_TUNED),
    learn=_learn_dn2mn,
    needs=(_REGRESSIONS, _NO_REGRESSIONS, _NEW_WEIGHTS),
)
GRAFTING_METHOD = Method(
    name="grafting",
    summary="pairs introduced one by one, by the L1-penalised likelihood",
    options=(*_GRAFTING, *_COMMON),
    learn=_learn_grafting,
    needs=(_L1_PENALTY,),
)
BLM_METHOD = Method(
    name="blm",
    summary="examples, generalised bottom-up",
    options=(_INITIAL, *_BOTTOM_UP, *_TUNED),
    learn=_learn_blm,
    needs=(_KEPT, _GVDM),
)
DTBLM_METHOD = Method(
    name="dtblm",
    summary="features of dtsl, generalised as in blm",
    options=(*_TREES, _CONVERSION, *_BOTTOM_UP, *_TUNED),
    learn=_learn_dtblm,
    needs=(_KEPT, _GVDM),
)
TOPDOWN_METHOD = Method(
    name="topdown",
    summary="conjunctions of features, added as they gain",
    options=(_ALPHA, _ADDITIONS, _TESTS, *_TUNED),
    learn=_learn_topdown,
)
GSSL_METHOD = Method(
    name="gssl",
    summary="random conjunctions, selected by an L1 penalty",
    options=(_N_GENERATED, _THRESHOLD, _INITIAL, _TUNING, L1, *_TUNED),
    learn=_learn_gssl,
)
BUSL_METHOD = Method(
    name="busl",
    summary="tests of independence, then conjunctions by gain",
    options=(
        _ALPHA,
        _RULE,
        _TEST,
        _MIN_WEIGHT_PER_DEGREE,
        _MAX_BLANKET,
        _MAX_LENGTH,
        MIN_SUPPORT,
        _MIN_GAIN,
        _MAX_ADDITIONS,
        *_COMMON,
    ),
    learn=_learn_busl,
)
INDEPENDENT_METHOD = Method(
    name="independent",
    summary="no structure: a baseline",
    options=_COMMON,
    learn=_learn_independent,
)
