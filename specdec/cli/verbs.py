"""Every verb: the module that carries it out and its line in ``specdec --help``."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Verb:
    """``module`` holds ``add_arguments(parser)`` and ``run(args) -> int``."""

    module: str
    help: str


VERBS: dict[str, Verb] = {
    # for people
    "doctor": Verb("specdec.cli.doctor", "say whether this machine can run a study, with a remedy for each fault"),
    "init-study": Verb("specdec.cli.init_study", "write a parameter file for your own models"),
    "validate": Verb("specdec.cli.validate", "check a parameter file and say what it describes"),
    "estimate": Verb("specdec.cli.estimate", "say how much time, disk and memory a study will need"),
    "generate": Verb("specdec.cli.generate", "generate text speculatively and count what happened"),
    "predict": Verb("specdec.analysis.predict", "predict the speed-up from acceptance and costs"),
    "audit": Verb("specdec.analysis.audit", "make every printed number again from the tables"),
    "replay": Verb("specdec.analysis.replay", "replay draft-length policies from the recorded observations"),
    "show": Verb("specdec.report.show", "print verdicts, the cost split, drafters and mechanisms"),
    "compare": Verb("specdec.cli.compare", "set two results folders beside each other"),
    "take-in": Verb("specdec.cli.take_in", "lay out what benchmarks/device.py measured as results of that machine"),
    "export": Verb("specdec.cli.export_study", "pack a finished study into one file that opens elsewhere"),
    "import": Verb("specdec.cli.import_study", "verify and open a study that somebody exported"),
    "completion": Verb("specdec.cli.completion", "print the completion script of a shell"),
    # one per step of the pipeline, called by workflow/rules
    "environment": Verb("specdec.cli.environment", "describe this machine and its software"),
    "fetch": Verb("specdec.cli.fetch", "fetch or make one model of the study"),
    "prompts": Verb("specdec.cli.prompts", "build one prompt to its exact length"),
    "gate": Verb("specdec.cli.gate", "run one correctness gate"),
    "require-gates": Verb("specdec.cli.require_gates", "stop here if a hard gate failed"),
    "observe": Verb("specdec.cli.observe", "record the drafter's chains along the target's text"),
    "freeze": Verb("specdec.cli.freeze", "write down and hash the confirmatory design before it is timed"),
    "time-cell": Verb("specdec.cli.time_cell", "time every arm on one context and family"),
    "step-costs": Verb("specdec.cli.step_costs", "time single forwards against the machine's read bandwidth"),
    "divergences": Verb("specdec.cli.divergences", "say where timed texts leave the target's own, and how nearly"),
    "collect": Verb("specdec.cli.collect", "join timed cells into one table"),
    "ladder-cell": Verb("specdec.cli.ladder_cell", "measure the mechanism ladder on one context and family"),
    "mechanism": Verb("specdec.cli.mechanism", "measure one mechanism that is no arm of the ladder"),
    "mechanism-figures": Verb("specdec.cli.mechanism_figures", "turn measured mechanisms into rows and claims"),
    "analyse": Verb("specdec.cli.analyse", "turn tables into ratios, intervals, costs and verdicts"),
    "report": Verb("specdec.cli.report", "render the report"),
    # the project's own upkeep
    "train-drafter": Verb("specdec.cli.train_drafter", "train a drafter for one target from its own answers"),
    "schema": Verb("specdec.config.schema", "write the JSON schema of parameter files"),
    "close-phase": Verb("specdec.pipeline.manifest", "list a phase's files and delete what no rule makes any more"),
    "progress": Verb("specdec.pipeline.progress", "say which timed cell comes next and how long the rest will take"),
}
