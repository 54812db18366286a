"""Types of keywords, made from the declarations of settings by docs/hooks/options.py."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypedDict

from .outputs.document import Outputs
from .outputs.rules.policy import Policy
from .risk.auditing.pairs import Pair
from .synth.settings import Settings
from .table.schema import Schema

class AttackTargetsOptions(TypedDict, total=False):
    """Options of `AttackTargets`."""

    targets: int | Sequence[int]
    """People to attack: so many of the most vulnerable records, or rows as 3,17. Default: 50."""
    rows: int | None
    """Records in each subset. Default: a fifth of DATA, or all with --population."""
    ranking: Literal["union", "hamming", "cosine", "extremes", "rarity"]
    """How vulnerable records are found: hamming, cosine, extremes, rarity, or their union. Default: union."""
    duplicates: Literal["drop", "keep"]
    """Records with equal values: drop all but one, or keep those of others. Default: drop."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""

class AuditOptions(TypedDict, total=False):
    """Options of `AuditSettings`."""

    epsilon: float | None
    """Claimed epsilon. Default: that of SPEC."""
    delta: float | None
    """Claimed delta. Default: that of SPEC."""
    neighbours: Literal["add-remove", "replace-one"] | None
    """Relation of the claim: add-remove or replace-one. Default: that of SPEC."""
    pairs: Sequence[str | Pair] | None
    """Pairs of tables: some of narrow, repeated, empty, lone level, crowded, average, canaries, as A,B. Default: all but canaries."""
    runs: int
    """Runs for each pair of tables: more show a larger epsilon. Default: 2000."""
    box: Sequence[Literal["mechanism", "white", "black"]] | str
    """Noisy answers of a fit (mechanism), its model (white) or its table (black). Default: mechanism,white,black."""
    rows: int | None
    """Rows drawn of each model. Default: 500 or more."""
    average_rows: int
    """The most records of DATA in the pair average. Default: 1000."""
    level: float
    """Confidence of all bounds together. Default: 0.999."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""
    time_limit: float | None
    """Seconds that one fit may take. Default: no limit."""

class CheckJobOptions(TypedDict, total=False):
    """Options of `CheckJob`."""

    keys: Sequence[str]
    """Columns, as A,B, that an outsider may know of a person (quasi-identifiers)."""
    sensitive: Sequence[str]
    """Columns, as A,B, whose values must not be disclosed: protected, and attacked."""
    rules_only: bool
    """Ask the rules alone, in a second or two: measure nothing."""
    key_sizes: tuple[int, int] | None
    """Sizes of key subsets to try, as 3-6 or 4. Default: 3 to all."""
    syntheses: int
    """Datasets to evolve for each fold. Default: 50."""
    holdout_share: float
    """Share of the people to hold out of a fold. Default: 0.5."""
    repeat_splits: int
    """Random splits of the people into folds. Default: 1."""
    start: Literal["margins", "fold", "published", "uniform"]
    """What attackers know beside the outputs: margins of columns (of all, fold, published), or uniform. Default: margins."""
    tau: float
    """TCAP: share of rows with a key that agree, from which it answers. Default: 1."""
    level: float
    """Confidence of intervals. Default: 0.95."""
    cumulative: bool
    """Assess all outputs at once alone, and not one after the other."""
    leave_one_out: Literal["excess", "always", "never"]
    """Assess outputs without each of them: after an excess, always or never. Default: excess."""
    threshold: int | None
    """Records that must share a value or a cell before it shows. Default: that of the rules."""
    search_engine: str
    """How to search: ea (evolutionary algorithm as published), incremental (moves of one or two records), maxent (draws what outputs imply first). Default: incremental."""
    seconds: float | None
    """Length of a search, turned into proposals by a fixed rule. Default: 60; check: 20."""
    proposals: int | None
    """Length of a search in proposals, instead of --seconds: repeats it anywhere."""
    max_error: float | None
    """Error allowed in numbers without a printed precision, in standard errors. Default: 0.001."""
    population_size: int
    """With ea: candidate datasets of a generation. Default: 32."""
    generations: int
    """With ea: generations at most. Default: 2000."""
    crossover: float
    """With ea: chance that two parents are crossed. Default: 0.8."""
    crossover_per_record: float
    """With ea: chance that crossed parents exchange a record. Default: 0.1."""
    mutation: float
    """With ea: chance that a cell is drawn anew. Default: 0.005."""
    mutation_divisor: float
    """With ea: what the chance of mutation is divided by. Default: 3."""
    mutation_every: int
    """With ea: generations after which it is divided. Default: 250."""
    selection: Literal["tournament", "best", "roulette", "truncation"]
    """With ea: how parents are chosen: tournament, best, roulette or truncation. Default: tournament."""
    tournament_size: int | None
    """With --selection tournament: candidates that a parent is the best of. Default: 2."""
    best: int | None
    """With --selection best: candidates that parents are drawn from. Default: 2."""
    survival: Literal["plus", "comma"]
    """With ea: who lives on: plus (parents too) or comma (children). Default: plus."""
    fitness: Literal["score", "fisher", "refit"]
    """With ea: the error to minimise: score, fisher or refit. Default: score."""
    only: Sequence[str]
    """Check this output alone; may be given again, or as A,B."""
    exclude: Sequence[str]
    """Check all outputs but this one; may be given again, or as A,B."""
    accept_ignored: bool
    """Let outputs that outputs.toml ignores leave without an assessment."""
    released: Path | Outputs | str | None
    """File of outputs that this project has released already."""
    record: bool
    """Add the outputs to the file of --released, if they pass; made if absent."""
    rules: Path | Policy | str | None
    """Rules to check by (TOML). Default: the ACRO folder's, or the usual ones."""
    recipes: Path | str | None
    """ACRO folder: file of outputs, named as results that cannot be read."""
    replace_readable: bool
    """Judge recipes in the place of results that can be read, too."""
    confidential: Path | str | None
    """Write exposed classes and the cells behind each rule: confidential, readable by you alone."""
    acro_write_back: Path | str | None
    """Copy the ACRO folder here, with the result as an output and comments."""
    mitigate: bool
    """Look for the least change after which the outputs pass, and check again."""
    write: Path | str | None
    """With --mitigate: new folder for the mitigated outputs, if they pass."""
    schema: Schema | str | PathLike[str] | Mapping[str, Any] | None
    """Schema file (TOML, or a codebook in JSON)."""
    encoding: str | None
    """Encoding of text files; found where their bytes leave no doubt (a private fit takes utf-8)."""
    delimiter: str | None
    """Delimiter of text files, or tab. Default: found from the first lines."""
    decimal: str | None
    """Decimal sign of text files: . or ,. Default: found from their numbers (a private fit takes the schema's)."""
    header: str | int | bool | None
    """Names of columns in the first line: yes, no, units (a line of units follows), or the line they stand in. Default: found (a private fit takes yes)."""
    comment: str | None
    """Sign of lines that are no records. Default: lines with # above the names are found."""
    table: str | None
    """Sheet, table of a database or file in a zip; FILE::NAME says the same."""
    rare: Literal["pool", "keep"]
    """Levels with fewer than three records: pool or keep. Default: keep."""
    personal: Mapping[str, str]
    """What becomes of a column that says who somebody is: drop, fake (made up) or keep (synthesised); may be given again."""

class DeltaOptions(TypedDict, total=False):
    """Options of `DeltaSettings`."""

    test_share: float
    """Share of records that learners are tested on, without a holdout. Default: 0.2."""
    feature_encoding: Literal["codes", "onehot"]
    """Categories as features of learners: codes, or onehot: an indicator each. Default: codes."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""
    labels: Sequence[str] | None
    """Columns that delta predicts, as A,B. Default: all categorical and boolean ones."""
    models: Sequence[str] | Mapping[str, Any] | None
    """Learners of delta: some of nb, svc, knn, rf, lr, as A,B. Default: svc."""
    scores: Sequence[str]
    """Scores of delta: some of error, balanced_error, auc, as A,B. Default: error."""
    repeats: int
    """Splits for learners. Default: 10."""
    rows: int | None
    """The most records of a table in a repeat. Default: 5000."""

class EvolveOptions(TypedDict, total=False):
    """Options of `EvolveSettings`."""

    rows: int | None
    """Records of a dataset. Default: those that SPEC says."""
    copies: int
    """Datasets to write: OUT gets -1, -2 ... before its ending. Default: 1."""
    start: Literal["uniform", "margins"] | None
    """Where records begin: known margins of columns, or uniform. Default: margins if any."""
    search_engine: str
    """How to search: ea (evolutionary algorithm as published), incremental (moves of one or two records), maxent (draws what outputs imply first). Default: incremental."""
    seconds: float | None
    """Length of a search, turned into proposals by a fixed rule. Default: 60; check: 20."""
    proposals: int | None
    """Length of a search in proposals, instead of --seconds: repeats it anywhere."""
    max_error: float | None
    """Error allowed in numbers without a printed precision, in standard errors. Default: 0.001."""
    population_size: int
    """With ea: candidate datasets of a generation. Default: 32."""
    generations: int
    """With ea: generations at most. Default: 2000."""
    crossover: float
    """With ea: chance that two parents are crossed. Default: 0.8."""
    crossover_per_record: float
    """With ea: chance that crossed parents exchange a record. Default: 0.1."""
    mutation: float
    """With ea: chance that a cell is drawn anew. Default: 0.005."""
    mutation_divisor: float
    """With ea: what the chance of mutation is divided by. Default: 3."""
    mutation_every: int
    """With ea: generations after which it is divided. Default: 250."""
    selection: Literal["tournament", "best", "roulette", "truncation"]
    """With ea: how parents are chosen: tournament, best, roulette or truncation. Default: tournament."""
    tournament_size: int | None
    """With --selection tournament: candidates that a parent is the best of. Default: 2."""
    best: int | None
    """With --selection best: candidates that parents are drawn from. Default: 2."""
    survival: Literal["plus", "comma"]
    """With ea: who lives on: plus (parents too) or comma (children). Default: plus."""
    fitness: Literal["score", "fisher", "refit"]
    """With ea: the error to minimise: score, fisher or refit. Default: score."""

class FrontierOptions(TypedDict, total=False):
    """Options of `FrontierSettings`."""

    keys: Sequence[str]
    """Columns, as A,B, that an outsider may know of a person (quasi-identifiers)."""
    sensitive: Sequence[str]
    """Columns, as A,B, whose values must not be disclosed: protected, and attacked."""
    label: str | None
    """Outcome column: learners predict it, and sensitive columns stay linked to it alone."""
    formula: str | None
    """Regression to fit on both tables, as 'income ~ age + sex'."""
    tables: Sequence[Sequence[str]]
    """A purpose: tables that are wanted, as A,B;C,D,E."""
    worth: str | None
    """Purpose to choose by, of several: accuracy, regression, tables, or tvd_2, phi_k, tvd_3, pmse."""
    epsilons: Sequence[float | None]
    """Budgets of guarantees to try, as none,10,3,1; they need a schema that declares the domain. Default: none."""
    choose: Literal["data", "public", "private", "none"] | None
    """With epsilons: public (largest epsilon, defaults; no figure is looked at), private (charged), or none (release nothing)."""
    budget: float | str | None
    """Time to search, as 10min, 90s or 1h."""
    evaluations: int | None
    """Settings to try: same number and seed, same files. Default: 24 without a budget."""
    attackers: Sequence[str] | None
    """Attackers to run, as A,B: any of matching, learning, memorisation, gcap, cap, dcap, disco, tcap, gcap_score, gcap_vote, nb, svm, knn, rf, lr, gaussian_nb, exact_row, copied_row, rare_level, rare_number, rare_combination, density_ratio, dcr, nndr, k_map, replicated_uniques, linkability, linkability_5, singled_out, singled_out_by_several, repeated_row, repeated_value, nearest_rows. Default: matching, memorisation, nb, knn; svm, rf and lr too with --thorough."""
    resamples: int
    """Draws of people for intervals and p-values. Default: 200."""
    confirm_share: float
    """Share of people who are set aside to confirm the choice. Default: 0.5."""
    shadows: int
    """Fits for the membership attack that max_auc asks for. Default: 60."""
    explain: bool
    """Which setting moves what near the choice: measured unless turned off."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""
    max_excess: float | None
    """Largest excess allowed of people in the table over others, as 0.05. Default: no limit."""
    max_auc: float | None
    """Limit on the AUC of a membership attack, 0.5 a guess; it takes many fits."""
    schema: Schema | str | PathLike[str] | Mapping[str, Any] | None
    """Schema file (TOML, or a codebook in JSON)."""
    encoding: str | None
    """Encoding of text files; found where their bytes leave no doubt (a private fit takes utf-8)."""
    delimiter: str | None
    """Delimiter of text files, or tab. Default: found from the first lines."""
    decimal: str | None
    """Decimal sign of text files: . or ,. Default: found from their numbers (a private fit takes the schema's)."""
    header: str | int | bool | None
    """Names of columns in the first line: yes, no, units (a line of units follows), or the line they stand in. Default: found (a private fit takes yes)."""
    comment: str | None
    """Sign of lines that are no records. Default: lines with # above the names are found."""
    table: str | None
    """Sheet, table of a database or file in a zip; FILE::NAME says the same."""
    rare: Literal["pool", "keep"]
    """Levels with fewer than three records: pool or keep. Default: pool."""
    personal: Mapping[str, str]
    """What becomes of a column that says who somebody is: drop, fake (made up) or keep (synthesised); may be given again."""
    person: str | None
    """Column that says whose row it is, where people have several."""
    order: str | None
    """Column that orders a person's rows, as a date. Default: the order of the file."""
    weight: str | None
    """Column that says how many people a record stands for: records are counted by it."""

class LearningOptions(TypedDict, total=False):
    """Options of `LearningSettings`."""

    test_share: float
    """Share of records that learners are tested on, without a holdout. Default: 0.2."""
    feature_encoding: Literal["codes", "onehot"]
    """Categories as features of learners: codes, or onehot: an indicator each. Default: codes."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""
    label: str | None
    """Outcome column: learners predict it, and sensitive columns stay linked to it alone."""
    task: Literal["classification", "regression"] | None
    """Task of learners. Default: regression for numbers with more than ten distinct values."""
    models: Sequence[str] | Mapping[str, Any] | None
    """Learners of the label: some of nb, svc, knn, rf, lr, as A,B. Default: nb, knn, lr; all with --thorough."""
    svm_rows: int | str | None
    """The most records a support vector machine learns from; 0 for all. Default: 5000."""
    repeats: int
    """Splits for learners. Default: 10."""
    marginals: bool
    """Learn from a table of independent columns too."""

class PruneOptions(TypedDict, total=False):
    """Options of `PruneSettings`."""

    label: Sequence[str] | str | None
    """Outcome column that the model predicts, or several as A,B."""
    at_least: int
    """Records of a class below which a node singles out. Default: 2."""
    trained_on: bool
    """The model was trained on --data: its accuracy is called so."""
    decimal: str | None
    """Decimal sign of text files: . or ,. Default: found from their numbers (a private fit takes the schema's)."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""
    splits: Literal["safe", "most"]
    """Splits that stay: those safe against every label, or most, with leaves that tell less. Default: safe."""

class ReadingOptions(TypedDict, total=False):
    """Options of `Reading`."""

    encoding: str | None
    """Encoding of text files; found where their bytes leave no doubt (a private fit takes utf-8)."""
    delimiter: str | None
    """Delimiter of text files, or tab. Default: found from the first lines."""
    decimal: str | None
    """Decimal sign of text files: . or ,. Default: found from their numbers (a private fit takes the schema's)."""
    header: str | int | bool | None
    """Names of columns in the first line: yes, no, units (a line of units follows), or the line they stand in. Default: found (a private fit takes yes)."""
    comment: str | None
    """Sign of lines that are no records. Default: lines with # above the names are found."""
    table: str | None
    """Sheet, table of a database or file in a zip; FILE::NAME says the same."""
    rare: Literal["pool", "keep"]
    """Levels with fewer than three records: pool or keep. Default: pool."""
    personal: Mapping[str, str]
    """What becomes of a column that says who somebody is: drop, fake (made up) or keep (synthesised); may be given again."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""

class ReleaseOptions(TypedDict, total=False):
    """Options of `ReleaseSettings`."""

    title: str | None
    """Title of the report."""
    note: str | None
    """Note to keep in the record."""
    method: str | Settings
    """bayesnet (a Bayesian network of the columns), fieldgroups (one noisy table for each group of columns, needs --epsilon), independent (each column alone, the baseline), panel (sequences, where a person has several rows), privbayes[:datasynthesizer|:dpart|:sdg] (PrivBayes as published, or as other packages have it, needs --epsilon). Settings without an option of their own follow the name, as NAME:SETTING=VALUE. Default: bayesnet."""
    ledger: Path | None
    """Project ledger that adds up releases of this data, and may refuse this one."""
    rows: int | None
    """Rows to draw, as 50000 or 1e9. Default: as many as the input has."""
    copies: int
    """Syntheses to write; -1, -2 ... stand before the ending. Default: 1."""
    groups: Sequence[Sequence[str]] | None
    """With fieldgroups: columns that share a table, as A,B;C,D. Default: learnt, and paid for."""
    draw: Literal["systematic", "independent"] | None
    """How rows are drawn: independent or systematic (near expected counts). Default: systematic with epsilon."""
    parents: int | None
    """The most parents of a column. Default: 6 in trees, 3 in tables; 5 with epsilon."""
    search: Literal["ordering", "greedy", "genetic"]
    """Search for the network: ordering, greedy or genetic; with epsilon not greedy. Default: ordering."""
    score: str | None
    """Score of a network: penalised, pairwise or joint. Default: the search's own."""
    label: str | None
    """Outcome column: learners predict it, and sensitive columns stay linked to it alone."""
    sensitive: Sequence[str]
    """Columns, as A,B, whose values must not be disclosed: protected, and attacked."""
    protect: Literal["separate", "together"]
    """Sensitive columns depend on the label alone (separate), or on each other too (together). Default: separate."""
    keep: Sequence[str]
    """Columns, as A,B, kept as they are; the others are drawn given them."""
    require: Sequence[tuple[str, str]]
    """An edge PARENT:CHILD that must be; may be given again."""
    forbid: Sequence[tuple[str, str]]
    """An edge PARENT:CHILD that must not be; may be given again."""
    root: str | None
    """First column: it has no parents."""
    conditionals: Literal["tables", "trees"] | None
    """Conditional distributions: trees or tables. Default: trees where nothing asks for tables."""
    leaf: int
    """The fewest records in a leaf of a tree. Default: 10."""
    smoothing: float | None
    """Weight of fewer parents. Default: 3 in trees, 1 in tables."""
    penalty: float | None
    """Cost of a free cell of a table, in nats. Default: half with few parents, less with more."""
    population_size: int
    """Genetic search: networks in a generation. Default: 200."""
    selection_size: int
    """Genetic search: networks kept of a generation. Default: 10."""
    mutation_rate: float | None
    """Genetic search: probability that a parent mutates. Default: 1 / columns."""
    generations: int
    """Genetic search: generations. Default: 400."""
    epsilon: float | None
    """Budget of differential privacy; needs a schema that declares the domain. Default: no guarantee."""
    delta: float | None
    """Probability that the guarantee may fail with."""
    neighbours: Literal["add-remove", "replace-one"] | None
    """What one person changes: add-remove or replace-one. Default: the method's own."""
    rows_per_person: int
    """The most rows kept of one person. Default: 1."""
    discover: Literal["all"] | None
    """all: find with noise what the schema leaves open, at the price --dry-run shows."""
    person: str | None
    """Column that says whose row it is, where people have several."""
    order: str | None
    """Column that orders a person's rows, as a date. Default: the order of the file."""
    weight: str | None
    """Column that says how many people a record stands for: records are counted by it."""
    schema: Schema | str | PathLike[str] | Mapping[str, Any] | None
    """Schema file (TOML, or a codebook in JSON)."""
    encoding: str | None
    """Encoding of text files; found where their bytes leave no doubt (a private fit takes utf-8)."""
    delimiter: str | None
    """Delimiter of text files, or tab. Default: found from the first lines."""
    decimal: str | None
    """Decimal sign of text files: . or ,. Default: found from their numbers (a private fit takes the schema's)."""
    header: str | int | bool | None
    """Names of columns in the first line: yes, no, units (a line of units follows), or the line they stand in. Default: found (a private fit takes yes)."""
    comment: str | None
    """Sign of lines that are no records. Default: lines with # above the names are found."""
    table: str | None
    """Sheet, table of a database or file in a zip; FILE::NAME says the same."""
    rare: Literal["pool", "keep"]
    """Levels with fewer than three records: pool or keep. Default: pool."""
    personal: Mapping[str, str]
    """What becomes of a column that says who somebody is: drop, fake (made up) or keep (synthesised); may be given again."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""
    engine: Literal["auto", "memory", "stream", "spark"]
    """Rows in memory, or stream: batch by batch; auto: memory below 1,000,000 rows that fit; spark: on a cluster. Default: auto."""
    cache: str | None
    """Folder or address, seen by all workers, for codes while --engine spark runs; removed at the end."""
    alpha: float
    """Weight of mu in G. Default: 1."""
    beta: float
    """Weight of delta in G. Default: 1."""
    norm: Literal["frobenius", "frobenius_full", "spectral"]
    """Norm of mu: frobenius (over pairs), frobenius_full (all cells) or spectral. Default: frobenius."""
    test_share: float
    """Share of records that learners are tested on, without a holdout. Default: 0.2."""
    feature_encoding: Literal["codes", "onehot"]
    """Categories as features of learners: codes, or onehot: an indicator each. Default: codes."""
    task: Literal["classification", "regression"] | None
    """Task of learners. Default: regression for numbers with more than ten distinct values."""
    models: Sequence[str] | Mapping[str, Any] | None
    """Learners of the label: some of nb, svc, knn, rf, lr, as A,B. Default: nb, knn, lr; all with --thorough."""
    svm_rows: int | str | None
    """The most records a support vector machine learns from; 0 for all. Default: 5000."""
    formula: str | None
    """Regression to fit on both tables, as 'income ~ age + sex'."""
    measures: Sequence[str] | None
    """Some of phi_k, pearson, jensen_shannon, tvd, impossible, rules, pmse, regression, learning, delta, as A,B; or those of the run but some, as -A,-B. Default: all; delta with --thorough."""
    repeats: int | None
    """Splits for learners; more take longer and give tighter figures. Default: 3; 10 with --thorough."""
    delta_models: Sequence[str] | Mapping[str, Any] | None
    """Learners of delta: some of nb, svc, knn, rf, lr, as A,B. Default: svc."""
    delta_labels: Sequence[str] | None
    """Columns that delta predicts, as A,B. Default: all categorical and boolean ones."""
    delta_scores: Sequence[str]
    """Scores of delta: some of error, balanced_error, auc, as A,B. Default: error."""
    weights: Literal["given", "baselines"]
    """Weights of G: given (--alpha, --beta), or baselines: G is 1 for independent columns. Default: given."""
    pmse_model: Literal["tree", "logistic"]
    """Model of pMSE, that tells synthetic rows from original ones: tree or logistic. Default: tree."""
    thorough: bool
    """Measure everything, in minutes: delta, support vector machines and forests, ten splits, all attackers."""
    sample_rows: int
    """Where rows are read batch by batch: records, about, for measures that learn or compare rows. Default: 100000."""
    keys: Sequence[str]
    """Columns, as A,B, that an outsider may know of a person (quasi-identifiers)."""
    key_sizes: tuple[int, int] | None
    """Sizes of key subsets to try, as 3-6 or 4. Default: all keys together."""
    attackers: Sequence[str] | None
    """Attackers to run, as A,B: any of matching, learning, memorisation, gcap, cap, dcap, disco, tcap, gcap_score, gcap_vote, nb, svm, knn, rf, lr, gaussian_nb, exact_row, copied_row, rare_level, rare_number, rare_combination, density_ratio, dcr, nndr, k_map, replicated_uniques, linkability, linkability_5, singled_out, singled_out_by_several, repeated_row, repeated_value, nearest_rows. Default: matching, memorisation, nb, knn; svm, rf and lr too with --thorough."""
    parts: tuple[Sequence[str], Sequence[str]] | str | None
    """Two sets of columns to link, as A,B:C,D. Default: the keys and all other columns."""
    tcap_convention: Literal["matched_rows", "all_rows", "certain", "matched", "conditional"]
    """How TCAP counts: matched_rows, all_rows, certain, matched, conditional; printed with the result. Default: matched_rows."""
    tau: float
    """TCAP: share of rows with a key that agree, from which it answers. Default: 1."""
    numeric: Literal["values", "bins"]
    """Numbers are equal if they are (values), or by bins of the schema (bins). Default: values."""
    tolerance: Mapping[str, float]
    """COLUMN=WIDTH: its numbers are rounded to multiples of the width, then equal or not; may be given again."""
    resamples: int
    """Draws of people for intervals and p-values. Default: 1000."""
    holdout_share: float | None
    """Share of the people to set aside as a holdout, by --seed. Default: none."""
    max_excess: float | None
    """Largest excess allowed of people in the table over others, as 0.05. Default: no limit."""
    require_shown: bool
    """Count a limit that is not shown to be kept as exceeded: end with 1."""
    policy: Path | None
    """TOML file of limits: max_excess, and where wanted require_shown."""

class RiskOptions(TypedDict, total=False):
    """Options of `RiskSettings`."""

    keys: Sequence[str]
    """Columns, as A,B, that an outsider may know of a person (quasi-identifiers)."""
    sensitive: Sequence[str]
    """Columns, as A,B, whose values must not be disclosed: protected, and attacked."""
    key_sizes: tuple[int, int] | None
    """Sizes of key subsets to try, as 3-6 or 4. Default: all keys together."""
    label: str | None
    """Outcome column: learners predict it, and sensitive columns stay linked to it alone."""
    attackers: Sequence[str] | None
    """Attackers to run, as A,B: any of matching, learning, memorisation, gcap, cap, dcap, disco, tcap, gcap_score, gcap_vote, nb, svm, knn, rf, lr, gaussian_nb, exact_row, copied_row, rare_level, rare_number, rare_combination, density_ratio, dcr, nndr, k_map, replicated_uniques, linkability, linkability_5, singled_out, singled_out_by_several, repeated_row, repeated_value, nearest_rows. Default: matching, memorisation, nb, knn; svm, rf and lr too with --thorough."""
    parts: tuple[Sequence[str], Sequence[str]] | str | None
    """Two sets of columns to link, as A,B:C,D. Default: the keys and all other columns."""
    tcap_convention: Literal["matched_rows", "all_rows", "certain", "matched", "conditional"]
    """How TCAP counts: matched_rows, all_rows, certain, matched, conditional; printed with the result. Default: matched_rows."""
    tau: float
    """TCAP: share of rows with a key that agree, from which it answers. Default: 1."""
    numeric: Literal["values", "bins"]
    """Numbers are equal if they are (values), or by bins of the schema (bins). Default: values."""
    rare: Literal["pool", "keep"]
    """Levels with fewer than three records: pool or keep. Default: keep."""
    tolerance: Mapping[str, float]
    """COLUMN=WIDTH: its numbers are rounded to multiples of the width, then equal or not; may be given again."""
    resamples: int
    """Draws of people for intervals and p-values. Default: 1000."""
    svm_rows: int | str | None
    """The most records a support vector machine learns from; 0 for all. Default: 5000."""
    holdout_share: float | None
    """Share of the people to set aside as a holdout, by --seed. Default: none."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""
    thorough: bool
    """Measure everything, in minutes: delta, support vector machines and forests, ten splits, all attackers."""
    sample_rows: int
    """Where rows are read batch by batch: records, about, for measures that learn or compare rows. Default: 100000."""
    max_excess: float | None
    """Largest excess allowed of people in the table over others, as 0.05. Default: no limit."""
    require_shown: bool
    """Count a limit that is not shown to be kept as exceeded: end with 1."""
    policy: Path | None
    """TOML file of limits: max_excess, and where wanted require_shown."""

class ShadowOptions(TypedDict, total=False):
    """Options of `ShadowSettings`."""

    shadows: int
    """Pairs of shadows to learn each target from. Default: 1000."""
    test_shadows: int
    """Pairs of shadows to test on. Default: 500."""
    tables_per_shadow: int
    """Synthetic tables drawn from each shadow to learn from. Default: 4."""
    design: Literal["shared", "neighbours"]
    """shared: all targets learn from the same shadows; neighbours: pairs apart in one record. Default: shared."""
    target_share: Literal["half", "natural"]
    """Shared shadows that a target is in: half, or its natural share of them. Default: half."""
    access: Literal["blackbox", "whitebox"]
    """blackbox (from synthetic tables) or whitebox (from the model). Default: blackbox."""
    grid: Literal["release", "population"]
    """release (levels, bins and values of each shadow) or population (its grid). Default: release."""
    features: Literal["queries", "naive", "histogram", "closest"]
    """What is seen of a table: queries, naive, histogram or closest. Default: queries."""
    learner: str
    """Who learns: exact, extremes, nearest, density, presence, values, combined, linear, extra-trees, random-forest, kernel. Default: combined."""
    targets: int | Sequence[int]
    """People to attack: so many of the most vulnerable records, or rows as 3,17. Default: 50."""
    rows: int | None
    """Records in each subset. Default: a fifth of DATA, or all with --population."""
    ranking: Literal["union", "hamming", "cosine", "extremes", "rarity"]
    """How vulnerable records are found: hamming, cosine, extremes, rarity, or their union. Default: union."""
    duplicates: Literal["drop", "keep"]
    """Records with equal values: drop all but one, or keep those of others. Default: drop."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""
    shadow_folder: Path | None
    """Folder for finished shadows, to go on from after a stop. Confidential."""
    time_limit: float | None
    """Seconds that one fit may take. Default: no limit."""

class SinglingOutOptions(TypedDict, total=False):
    """Options of `SinglingOutSettings`."""

    shadows: int
    """Pairs of shadows to learn each target from. Default: 1000."""
    test_shadows: int
    """Pairs of shadows to test on. Default: 500."""
    tables_per_shadow: int
    """Synthetic tables drawn from each shadow to learn from. Default: 4."""
    design: Literal["shared", "neighbours"]
    """shared: all targets learn from the same shadows; neighbours: pairs apart in one record. Default: shared."""
    target_share: Literal["half", "natural"]
    """Shared shadows that a target is in: half, or its natural share of them. Default: half."""
    access: Literal["blackbox", "whitebox"]
    """blackbox (from synthetic tables) or whitebox (from the model). Default: blackbox."""
    grid: Literal["release", "population"]
    """release (levels, bins and values of each shadow) or population (its grid). Default: release."""
    features: Literal["queries", "naive", "histogram", "closest"]
    """What is seen of a table: queries, naive, histogram or closest. Default: queries."""
    learner: str
    """Who learns: exact, extremes, nearest, density, presence, values, combined, linear, extra-trees, random-forest, kernel. Default: combined."""
    releases: int
    """Fresh releases to attack. Default: 1000."""
    combine: Literal["argmax", "weighted", "strong"]
    """Which target is named: argmax (the surest), weighted by skill, or the surest of strong ones. Default: argmax."""
    targets: int | Sequence[int]
    """People to attack: so many of the most vulnerable records, or rows as 3,17. Default: 50."""
    rows: int | None
    """Records in each subset. Default: a fifth of DATA, or all with --population."""
    ranking: Literal["union", "hamming", "cosine", "extremes", "rarity"]
    """How vulnerable records are found: hamming, cosine, extremes, rarity, or their union. Default: union."""
    duplicates: Literal["drop", "keep"]
    """Records with equal values: drop all but one, or keep those of others. Default: drop."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""
    shadow_folder: Path | None
    """Folder for finished shadows, to go on from after a stop. Confidential."""
    time_limit: float | None
    """Seconds that one fit may take. Default: no limit."""

class SynthesisOptions(TypedDict, total=False):
    """Options of `SynthesisSettings`."""

    method: str | Settings
    """bayesnet (a Bayesian network of the columns), fieldgroups (one noisy table for each group of columns, needs --epsilon), independent (each column alone, the baseline), panel (sequences, where a person has several rows), privbayes[:datasynthesizer|:dpart|:sdg] (PrivBayes as published, or as other packages have it, needs --epsilon). Settings without an option of their own follow the name, as NAME:SETTING=VALUE. Default: bayesnet."""
    ledger: Path | None
    """Project ledger that adds up releases of this data, and may refuse this one."""
    rows: int | None
    """Rows to draw, as 50000 or 1e9. Default: as many as the input has."""
    copies: int
    """Syntheses to write; -1, -2 ... stand before the ending. Default: 1."""
    groups: Sequence[Sequence[str]] | None
    """With fieldgroups: columns that share a table, as A,B;C,D. Default: learnt, and paid for."""
    draw: Literal["systematic", "independent"] | None
    """How rows are drawn: independent or systematic (near expected counts). Default: systematic with epsilon."""
    parents: int | None
    """The most parents of a column. Default: 6 in trees, 3 in tables; 5 with epsilon."""
    search: Literal["ordering", "greedy", "genetic"]
    """Search for the network: ordering, greedy or genetic; with epsilon not greedy. Default: ordering."""
    score: str | None
    """Score of a network: penalised, pairwise or joint. Default: the search's own."""
    label: str | None
    """Outcome column: learners predict it, and sensitive columns stay linked to it alone."""
    sensitive: Sequence[str]
    """Columns, as A,B, whose values must not be disclosed: protected, and attacked."""
    protect: Literal["separate", "together"]
    """Sensitive columns depend on the label alone (separate), or on each other too (together). Default: separate."""
    keep: Sequence[str]
    """Columns, as A,B, kept as they are; the others are drawn given them."""
    require: Sequence[tuple[str, str]]
    """An edge PARENT:CHILD that must be; may be given again."""
    forbid: Sequence[tuple[str, str]]
    """An edge PARENT:CHILD that must not be; may be given again."""
    root: str | None
    """First column: it has no parents."""
    conditionals: Literal["tables", "trees"] | None
    """Conditional distributions: trees or tables. Default: trees where nothing asks for tables."""
    leaf: int
    """The fewest records in a leaf of a tree. Default: 10."""
    smoothing: float | None
    """Weight of fewer parents. Default: 3 in trees, 1 in tables."""
    penalty: float | None
    """Cost of a free cell of a table, in nats. Default: half with few parents, less with more."""
    population_size: int
    """Genetic search: networks in a generation. Default: 200."""
    selection_size: int
    """Genetic search: networks kept of a generation. Default: 10."""
    mutation_rate: float | None
    """Genetic search: probability that a parent mutates. Default: 1 / columns."""
    generations: int
    """Genetic search: generations. Default: 400."""
    epsilon: float | None
    """Budget of differential privacy; needs a schema that declares the domain. Default: no guarantee."""
    delta: float | None
    """Probability that the guarantee may fail with."""
    neighbours: Literal["add-remove", "replace-one"] | None
    """What one person changes: add-remove or replace-one. Default: the method's own."""
    rows_per_person: int
    """The most rows kept of one person. Default: 1."""
    discover: Literal["all"] | None
    """all: find with noise what the schema leaves open, at the price --dry-run shows."""
    person: str | None
    """Column that says whose row it is, where people have several."""
    order: str | None
    """Column that orders a person's rows, as a date. Default: the order of the file."""
    weight: str | None
    """Column that says how many people a record stands for: records are counted by it."""
    schema: Schema | str | PathLike[str] | Mapping[str, Any] | None
    """Schema file (TOML, or a codebook in JSON)."""
    encoding: str | None
    """Encoding of text files; found where their bytes leave no doubt (a private fit takes utf-8)."""
    delimiter: str | None
    """Delimiter of text files, or tab. Default: found from the first lines."""
    decimal: str | None
    """Decimal sign of text files: . or ,. Default: found from their numbers (a private fit takes the schema's)."""
    header: str | int | bool | None
    """Names of columns in the first line: yes, no, units (a line of units follows), or the line they stand in. Default: found (a private fit takes yes)."""
    comment: str | None
    """Sign of lines that are no records. Default: lines with # above the names are found."""
    table: str | None
    """Sheet, table of a database or file in a zip; FILE::NAME says the same."""
    rare: Literal["pool", "keep"]
    """Levels with fewer than three records: pool or keep. Default: pool."""
    personal: Mapping[str, str]
    """What becomes of a column that says who somebody is: drop, fake (made up) or keep (synthesised); may be given again."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""
    engine: Literal["auto", "memory", "stream", "spark"]
    """Rows in memory, or stream: batch by batch; auto: memory below 1,000,000 rows that fit; spark: on a cluster. Default: auto."""
    cache: str | None
    """Folder or address, seen by all workers, for codes while --engine spark runs; removed at the end."""

class TreeOptions(TypedDict, total=False):
    """Options of `TreeSettings`."""

    label: Sequence[str] | str | None
    """Outcome column that the model predicts, or several as A,B."""
    at_least: int
    """Records of a class below which a node singles out. Default: 2."""
    trained_on: bool
    """The model was trained on --data: its accuracy is called so."""
    decimal: str | None
    """Decimal sign of text files: . or ,. Default: found from their numbers (a private fit takes the schema's)."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""

class UtilityOptions(TypedDict, total=False):
    """Options of `UtilitySettings`."""

    alpha: float
    """Weight of mu in G. Default: 1."""
    beta: float
    """Weight of delta in G. Default: 1."""
    norm: Literal["frobenius", "frobenius_full", "spectral"]
    """Norm of mu: frobenius (over pairs), frobenius_full (all cells) or spectral. Default: frobenius."""
    test_share: float
    """Share of records that learners are tested on, without a holdout. Default: 0.2."""
    feature_encoding: Literal["codes", "onehot"]
    """Categories as features of learners: codes, or onehot: an indicator each. Default: codes."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""
    label: str | None
    """Outcome column: learners predict it, and sensitive columns stay linked to it alone."""
    task: Literal["classification", "regression"] | None
    """Task of learners. Default: regression for numbers with more than ten distinct values."""
    models: Sequence[str] | Mapping[str, Any] | None
    """Learners of the label: some of nb, svc, knn, rf, lr, as A,B. Default: nb, knn, lr; all with --thorough."""
    svm_rows: int | str | None
    """The most records a support vector machine learns from; 0 for all. Default: 5000."""
    formula: str | None
    """Regression to fit on both tables, as 'income ~ age + sex'."""
    measures: Sequence[str] | None
    """Some of phi_k, pearson, jensen_shannon, tvd, impossible, rules, pmse, regression, learning, delta, as A,B; or those of the run but some, as -A,-B. Default: all; delta with --thorough."""
    repeats: int | None
    """Splits for learners; more take longer and give tighter figures. Default: 3; 10 with --thorough."""
    delta_models: Sequence[str] | Mapping[str, Any] | None
    """Learners of delta: some of nb, svc, knn, rf, lr, as A,B. Default: svc."""
    delta_labels: Sequence[str] | None
    """Columns that delta predicts, as A,B. Default: all categorical and boolean ones."""
    delta_scores: Sequence[str]
    """Scores of delta: some of error, balanced_error, auc, as A,B. Default: error."""
    weights: Literal["given", "baselines"]
    """Weights of G: given (--alpha, --beta), or baselines: G is 1 for independent columns. Default: given."""
    pmse_model: Literal["tree", "logistic"]
    """Model of pMSE, that tells synthetic rows from original ones: tree or logistic. Default: tree."""
    thorough: bool
    """Measure everything, in minutes: delta, support vector machines and forests, ten splits, all attackers."""
    sample_rows: int
    """Where rows are read batch by batch: records, about, for measures that learn or compare rows. Default: 100000."""
