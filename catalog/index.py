"""The public sets dicast can read: what each is, where its original lies, at which commit, with which SHA-256.

No set is copied into the package (but our own `authored`): many licences forbid it, and some state nothing. Figures
"the longer response wins" are shares of the non-ties over the whole set, by characters, equal lengths counted as b: a
judge that does not beat it has shown nothing. All is public, so any judge model may have seen it.
"""

from dataclasses import dataclass
from os.path import commonpath
from pathlib import PurePosixPath

from . import checksums


@dataclass(frozen=True)
class SourceFile:
    """One original file of a public repository, pinned."""

    repo: str
    path: str
    commit: str
    sha256: str | None = None  # None: the file could not be had to take its digest


@dataclass(frozen=True)
class PublicSet:
    """One public set: what it holds and where a user gets it."""

    name: str
    title: str
    kind: str  # of its converted rows, see converters.py
    size: int  # rows that the original gives; a pointwise row gives one case an aspect
    labels: str  # one sentence: whether people gave them, and how many
    licence: str
    files: tuple[SourceFile, ...]
    citation: str
    converted: str  # where the converted rows lie under a folder of sets
    aspects: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Repository, path and commit, to read."""
        if not self.files:
            return "in the package: catalog/sets/authored.jsonl"
        first, count = self.files[0], len(self.files)
        where = first.path if count == 1 else f"{count} files in {self.folder or 'the root'}"
        return f"github.com/{first.repo}, {where}, commit {first.commit}"

    @property
    def folder(self) -> str:
        """The folder of the repository that holds all files."""
        return commonpath([str(PurePosixPath("/", file.path).parent) for file in self.files]).strip("/")

    def stored(self, file: SourceFile) -> str:
        """A file's path below the set's own folder in the cache."""
        return file.path.removeprefix(self.folder).strip("/")


def _files(repo: str, commit: str, sums: str, folder: str = "") -> tuple[SourceFile, ...]:
    """Pinned files from lines as `sha256sum` prints them: digest, two spaces, path below the folder."""
    lines = (line.split("  ", 1) for line in sums.split("\n") if line)
    return tuple(SourceFile(repo, folder + path, commit, digest) for digest, path in lines)


PREFEVAL = ("amazon-science/PrefEval", "50795054b5ff5f418d2b768a331d71e480f93331")
PREFEVAL_LABELS = "Not human: model-written preferences, questions and options, filtered by the authors."
PREFEVAL_CITATION = "Zhao et al. 2025, Do LLMs Recognize Your Preferences? (ICLR), arXiv 2502.09597"
PREFEVAL_CAUTIONS = (
    "The source's first option is always the right one; options are shuffled here with a seed drawn from the id.",
    "No person chose the right option: agreement with it is not agreement with people.",
)


def _llmbar(subset: str, folder: str, size: int, sha256: str, longer: str) -> PublicSet:
    caution = () if subset == "natural" else ("Built to fool judges that like style over following the instruction.",)
    return PublicSet(
        name=f"llmbar-{subset}",
        title=f"LLMBar, {folder.rpartition('/')[2]}",
        kind="pairwise",
        size=size,
        labels="Gold by the authors: one response is objectively better; no single annotators, no ties.",
        licence="MIT",
        files=_files(
            "princeton-nlp/LLMBar",
            "900616bff90b6c6c8e1681f7d079250637c55992",
            f"{sha256}  Dataset/LLMBar/{folder}/dataset.json",
        ),
        citation="Zeng et al. 2024, Evaluating Large Language Models at Evaluating Instruction Following (ICLR), "
        "arXiv 2310.07641",
        converted=f"llmbar/{subset}.jsonl",
        cautions=(f"The longer response wins {longer}.", *caution),
    )


def _fed(level: str, size: int, aspects: tuple[str, ...], more: str) -> PublicSet:
    return PublicSet(
        name=f"fed-{level}",
        title=f"FED, {level} level",
        kind="pointwise",
        size=size,
        labels="Human: five annotators an item and aspect, all kept; the label is the mean of the numeric ones.",
        licence="not stated",
        files=_files(
            "DSincerity/FED_Replication",
            "f0a9a675ffcd134e9cb606c46afc8e0c7ad31ba4",
            "69a608314d982e202c46a095ea99f4174332745b513034f6244f7551556e7e46  fed_data.json",
        ),
        citation="Mehri and Eskenazi 2020, Unsupervised Evaluation of Interactive Dialog with DialoGPT (SIGDIAL), "
        "arXiv 2006.12719",
        converted=f"fed/{level}_level.jsonl",
        aspects=aspects,
        cautions=(
            'Votes "N/A (...)" are left out and counted in meta.votes_not_numeric.',
            "The paper drops each item's furthest annotation first; here all stay.",
            "Three turns and one whole dialog come from one conversation: they share a group.",
            more,
        ),
    )


SETS = (
    PublicSet(
        name="authored",
        title="Authored pairs for the demo and the tests",
        kind="pairwise",
        size=48,
        labels="By the package's authors, drafted by a language model; one label a pair.",
        licence="MIT",
        files=(),
        citation="dicast, catalog/sets/AUTHORED.md",
        converted="authored.jsonl",
        cautions=("Easy on purpose and too small to rank judges.", "The longer response wins .500."),
    ),
    PublicSet(
        name="pandalm",
        title="PandaLM test set",
        kind="pairwise",
        size=999,
        labels="Human: three annotators a pair, all three kept; the label is their majority.",
        licence="Apache-2.0",
        files=_files(
            "WeOpenML/PandaLM",
            "3871806e72b4832f815ecafd24d3503c73403f48",
            "cc154f9067c7382d7ea86f8f246511a5e1ac87e1fddd845c5938d789505b07a4  data/testset-v1.json",
        ),
        citation="Wang et al. 2024, PandaLM (ICLR), arXiv 2306.05087",
        converted="pandalm/test.jsonl",
        cautions=(
            "The longer response wins .672.",
            "999 pairs over only 170 prompts: split by group, never by row.",
            "148 rows repeat another row's prompt and pair; 54 have an empty response.",
        ),
    ),
    PublicSet(
        name="autoj",
        title="Auto-J pairwise test set",
        kind="pairwise",
        size=1392,
        labels="Human: one label a pair; single annotators are not released.",
        licence="not stated for the data",
        files=_files(
            "GAIR-NLP/auto-j",
            "2ae17a3965d933232e9cd50302aa0f176249c83b",
            "56f32fad71d9b6b33bc4d51794c324981e26355bcbf3ce4908d7f8ddcc61f80e  data/test/testdata_pairwise.jsonl",
        ),
        citation="Li et al. 2024, Generative Judge for Evaluating Alignment (ICLR), arXiv 2310.05470",
        converted="autoj_pairwise/test.jsonl",
        cautions=("The longer response wins .718.", "58 scenarios of 24 pairs; one empty response."),
    ),
    _llmbar("natural", "Natural", 100, "f7127b7aa78104cb8e03a2b1b3ac0077e95b125714dd441a8ee63666145a3375", ".560"),
    _llmbar(
        "neighbor",
        "Adversarial/Neighbor",
        134,
        "6712c7eda6342602e0bc7c06c282fa95e2110d4e741a284026a62d937f9780a0",
        ".119",
    ),
    _llmbar(
        "gptinst", "Adversarial/GPTInst", 92, "1002425f73c2cf54b6e6de99bce3f6c60fa2a17d13194772e37d7481c1351d42", ".130"
    ),
    _llmbar(
        "gptout", "Adversarial/GPTOut", 47, "1ff56e520d7607750a9866a3be0f5b850392ca4477a1f69d80f32bd3e310f561", ".447"
    ),
    _llmbar(
        "manual", "Adversarial/Manual", 46, "0d9598769a39cdbbd265778c37e49939d41d5f76dcfb17bd75dcfa07516d3837", ".174"
    ),
    PublicSet(
        name="faireval",
        title="FairEval (Vicuna-80)",
        kind="pairwise",
        size=80,
        labels="Human: the consensus of three annotators; only the final label is released.",
        licence="not stated",
        files=_files("i-Eval/FairEval", "453c117a69159fd7b7de2f4e0519bac57bee21f4", checksums.FAIREVAL),
        citation="Wang et al. 2024, Large Language Models are not Fair Evaluators (ACL), arXiv 2305.17926",
        converted="faireval/test.jsonl",
        cautions=("The longer response wins .591.", "a is always ChatGPT, b always Vicuna-13B: ask both orders."),
    ),
    PublicSet(
        name="rank19",
        title="Rank19: correct and incorrect summary sentences",
        kind="pairwise",
        size=373,
        labels="Human: crowd workers marked summary sentences correct or incorrect; single votes are not released.",
        licence="CC-BY-SA-4.0 (the authors' release); none stated in the copy",
        files=_files(
            "tagoyal/dae-factuality",
            "e191ecacf3878b580ecbeb56ca9bcf20e1ed9426",
            "cd12359b5a6f1e3e9916a63aed911bacee74f501ce9f4a0331266a668ae4e310  resources/summary_pairs.json",
        ),
        citation="Falke et al. 2019, Ranking Generated Summaries by Correctness (ACL), aclanthology.org/P19-1213",
        converted="rank19/test.jsonl",
        cautions=(
            "The longer response wins about .61.",
            "The copy in neulab/BARTScore is a pickle and is never read. Its texts are tokenised and truecased; these "
            "are lower-case. Ids name the same triples in both, but which response is a may differ.",
            "3 duplicate pairs.",
        ),
    ),
    PublicSet(
        name="summeval",
        title="SummEval, the 12 abstractive systems",
        kind="pointwise",
        size=1200,
        labels="Human: three experts a summary and aspect, all kept, and five crowd workers in meta.",
        licence="MIT (SummEval); not stated in the copy; the articles are CNN/DailyMail's",
        files=_files(
            "DAMO-NLP-SG/LLM_summeval",
            "bd7dde15817a88940c17574973ff03e750356daa",
            checksums.SUMMEVAL,
            "model_output_annotations/",
        ),
        citation="Fabbri et al. 2021, SummEval (TACL), arXiv 2007.12626; copy: Shen et al. 2023, arXiv 2305.13091",
        converted="summeval/test.jsonl",
        aspects=("coherence", "consistency", "fluency", "relevance"),
        cautions=(
            "Consistency and fluency are very skewed towards 5.",
            "neulab/BARTScore has all 16 systems (1,600 summaries), but as a pickle, which is never read; a converted "
            "copy of it has means alone for M0, M1, M2 and M5, and truecased texts. Ids and scores are the same.",
        ),
    ),
    PublicSet(
        name="openmeva",
        title="OpenMEVA, ROC stories",
        kind="pointwise",
        size=1000,
        labels="Human: the mean of five annotators, 1 to 5; single ratings are not in this copy.",
        licence="not stated",
        files=_files(
            "krystalan/chatgpt_as_nlg_evaluator",
            "982e7867eb27d0971b4cf8f7cb50f7cda5c5bdf1",
            "75b44ae616438d3be415b7fed0d1c6bc447b02ac4b01467be8416712b02ab58e  data/openmeva.json",
        ),
        citation="Guan et al. 2021, OpenMEVA (ACL), arXiv 2105.08920; copy: Wang et al. 2023, arXiv 2303.04048",
        converted="openmeva_roc/test.jsonl",
        aspects=("overall",),
    ),
    _fed(
        "turn",
        375,
        (
            "interesting",
            "engaging",
            "specific",
            "relevant",
            "correct",
            "semantically appropriate",
            "understandable",
            "fluent",
            "overall",
        ),
        "Scales differ: understandable 0..1, overall 0..4, the others 0..2.",
    ),
    _fed(
        "dialog",
        125,
        (
            "coherent",
            "error recovery",
            "consistent",
            "diverse",
            "depth",
            "likeable",
            "understanding",
            "flexible",
            "informative",
            "inquisitive",
            "overall",
        ),
        "Scales differ: consistent 0..1, overall 0..4, the others 0..2; one dialog has no error recovery.",
    ),
    PublicSet(
        name="usr-topical-chat",
        title="USR, Topical-Chat",
        kind="pointwise",
        size=360,
        labels="Human: the mean of three annotators; single ratings are not in this copy.",
        licence="MIT (the UniEval repository)",
        files=_files(
            "maszhongming/UniEval",
            "d33e7b6cfebe97b2bafe435adbd818230d5a416a",
            "f6361daa6fe162f636d2071a60322a784acd770be0bf3a6920ac949d751b978a  "
            "reproduce/data/dialogue/topical_chat.json",
        ),
        citation="Mehri and Eskenazi 2020, USR (ACL), arXiv 2005.00456; copy: Zhong et al. 2022, arXiv 2210.07197",
        converted="topical_chat_usr/test.jsonl",
        aspects=("understandability", "naturalness", "coherence", "engagingness", "groundedness", "overall"),
        cautions=("Scales differ: understandability and groundedness 0..1, overall 1..5, the others 1..3.",),
    ),
    PublicSet(
        name="prefeval-mcq",
        title="PrefEval, multiple choice",
        kind="choice",
        size=1000,
        labels=PREFEVAL_LABELS,
        licence="CC-BY-NC-4.0",
        files=_files(*PREFEVAL, checksums.PREFEVAL_MCQ, "benchmark_dataset/mcq_options/"),
        citation=PREFEVAL_CITATION,
        converted="prefeval/mcq.jsonl",
        cautions=PREFEVAL_CAUTIONS,
    ),
    PublicSet(
        name="prefeval-implicit",
        title="PrefEval, implicit preference by a choice",
        kind="choice",
        size=1000,
        labels=PREFEVAL_LABELS,
        licence="CC-BY-NC-4.0",
        files=_files(*PREFEVAL, checksums.PREFEVAL_IMPLICIT, "benchmark_dataset/implicit_preference/choice-based/"),
        citation=PREFEVAL_CITATION,
        converted="prefeval/implicit_choice.jsonl",
        cautions=PREFEVAL_CAUTIONS,
    ),
    PublicSet(
        name="perse-mpst",
        title="PerSE, PerMPST sample",
        kind="profile",
        size=10,
        labels="Human: one reviewer's scores of movie plots, 1 to 10.",
        licence="CC-BY-NC-4.0",
        files=_files(
            "facebookresearch/PerSE",
            "cbe1b4890179c3f50e01e5203cc3b4b207c2cffb",
            "b693f5c9f1c2d210186cb899693f6ac82db6d5f6023b7db2da04a33cbdac42f6  data/PerMPST.k3.sample.jsonl",
        ),
        citation="Wang et al. 2023, Learning Personalized Alignment for Evaluating Open-ended Text Generation, "
        "arXiv 2310.03304",
        converted="perse/permpst_k3_sample.jsonl",
        cautions=(
            "A smoke test, no evidence: 10 records of one reviewer, scores 5 to 8. The full set is not in the "
            "repository.",
        ),
    ),
    PublicSet(
        name="perse-doc",
        title="PerSE, PerDOC sample (interestingness)",
        kind="profile_pairwise",
        size=10,
        labels="Human: four reviewers' choices between two plots, one earlier choice each.",
        licence="CC-BY-NC-4.0",
        files=_files(
            "facebookresearch/PerSE",
            "cbe1b4890179c3f50e01e5203cc3b4b207c2cffb",
            "e5abf8b9e1774debbf2e2b74e67de060527a160c9d4fa6a5e6e7032951eeb723  data/PerDOC.I.sample.jsonl",
        ),
        citation="Wang et al. 2023, arXiv 2310.03304",
        converted="perse/perdoc_interestingness_sample.jsonl",
        aspects=("Interestingness",),
        cautions=("A smoke test, no evidence: 10 records, of which 8 are b.", "Cut out of prompt strings."),
    ),
    PublicSet(
        name="prism",
        title="Personalized Judge, PRISM pairs",
        kind="persona_pairwise",
        size=2643,
        labels="Human: the user scored both answers 1 to 100; gold is the higher one, at least 10 points apart.",
        licence="not stated in the copy; PRISM: human text CC-BY-4.0, model text CC-BY-NC-4.0",
        files=_files(
            "dong-river/Personalized-Judge", "4d93fde111cbdaba7c3f8a439435dadee1acbd50", checksums.PRISM, "outputs/"
        ),
        citation="Kirk et al. 2024, PRISM (NeurIPS), arXiv 2404.16019; pairs: Dong et al. 2024, arXiv 2406.11657",
        converted="personalized_prism/items.jsonl",
        cautions=(
            "The longer response wins .655.",
            "No user ids: people of equal education, ethnicity and countries share a group.",
            "The source's records with gold C show the previous question's responses and are left out.",
        ),
    ),
)

CATALOG: dict[str, PublicSet] = {one.name: one for one in SETS}
