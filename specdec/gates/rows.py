"""Is a row of logits the same however it is computed: alone, in a block, behind any split of the prefill?

In float32 the answer must be yes within rounding. A causal mask aligned at the wrong corner, a rotary position
off by one or a cache slot written twice all show here, on the model itself and without any decoding.
"""

from collections.abc import Sequence
from pathlib import Path

import torch

from specdec.gates.flips import agreement
from specdec.gates.result import Check, passed_if
from specdec.gates.subject import Text
from specdec.models.executor import Executor, prefill


def single_and_block(executor: Executor, prompts: Sequence[Text], ks: Sequence[int], chunk: int, tol: float) -> Check:
    """Case K5: teacher-forced one by one and in blocks of k + 1; equal within ``tol`` and with equal argmax."""
    worst, flips, n_rows = 0.0, 0, 0
    longest = max(ks) + 1
    for prompt in prompts:
        ids = torch.tensor(prompt.ids, device=executor.device)
        head, tail = ids[:-longest], ids[-longest:]
        cache = executor.open(len(ids))
        prefill(executor, head, cache, chunk)
        single = torch.cat([executor.forward(tail[i : i + 1], len(head) + i, cache) for i in range(longest)])
        for k in ks:
            cache.rollback(len(head))
            block = executor.forward(tail[: k + 1], len(head), cache)
            worst = max(worst, agreement(single[: k + 1], block, executor.dtype).largest)
            flips += int((single[: k + 1].argmax(-1) != block.argmax(-1)).sum())
            n_rows += k + 1
    told = f"{n_rows} rows, largest difference {worst:.3g} logits (allowed {tol:.3g}), {flips} changed choices"
    evidence = {"n_rows": n_rows, "largest": worst, "tolerance": tol, "n_flips": flips, "ks": list(ks)}
    return passed_if(worst <= tol and not flips, "one row against k + 1 rows", told, evidence)


def last_row(executor: Executor, prompt: Text, tol: float) -> Check:
    """Case K6: asking for the last row gives one row, and it is the last one of all rows."""
    ids = torch.tensor(prompt.ids[-64:], device=executor.device)
    every = executor.forward(ids, 0, executor.open(len(ids)))
    last = executor.forward(ids, 0, executor.open(len(ids)), last_only=True)
    if last.shape != every[-1:].shape:
        return Check("last row alone", "fail", f"{list(last.shape)} instead of {list(every[-1:].shape)}", {})
    largest = agreement(every[-1:], last, executor.dtype).largest
    told = f"{len(ids)} rows against the last alone: difference {largest:.3g} logits (allowed {tol:.3g})"
    return passed_if(largest <= tol, "last row alone", told, {"largest": largest, "tolerance": tol})


def prefill_split(executor: Executor, prompt: Text, tol: float) -> Check:
    """Case E7's ground: the prompt's last row does not depend on how the prefill is cut into chunks."""
    ids = torch.tensor(prompt.ids, device=executor.device)
    whole = prefill(executor, ids, executor.open(len(ids)), len(ids))
    parts = [max(1, len(ids) // 3), max(1, len(ids) - 1)]
    worst = 0.0
    for chunk in parts:
        split = prefill(executor, ids, executor.open(len(ids)), chunk)
        worst = max(worst, agreement(whole, split, executor.dtype).largest)
    told = f"chunks of {parts} tokens against the whole: difference {worst:.3g} logits (allowed {tol:.3g})"
    return passed_if(worst <= tol, "prefill in chunks", told, {"largest": worst, "tolerance": tol, "chunks": parts})


def against_transformers(executor: Executor, folder: Path, prompts: Sequence[Text], n_rows: int, tol: float) -> Check:
    """The executor's logits against transformers' own forward over the same ids, float32, last ``n_rows`` rows."""
    name = "logits against transformers"
    try:
        from transformers import AutoModelForCausalLM

        model = AutoModelForCausalLM.from_pretrained(
            str(folder), dtype=torch.float32, local_files_only=True, use_safetensors=True, trust_remote_code=False
        )
    except ImportError as error:
        return Check(name, "skipped", f"transformers cannot be imported ({error})", {})
    model = torch.nn.Module.to(model, executor.device).train(False)
    worst, flips, count = 0.0, 0, 0
    for prompt in prompts:
        ids = torch.tensor(prompt.ids, device=executor.device)
        rows = min(n_rows, len(ids))
        with torch.inference_mode():
            theirs = model(input_ids=ids[None], use_cache=False, logits_to_keep=rows).logits[0]
        cache = executor.open(len(ids))
        if len(ids) > rows:
            prefill(executor, ids[:-rows], cache, len(ids))
        ours = executor.forward(ids[-rows:], len(ids) - rows, cache)
        theirs = theirs[:, : executor.n_vocabulary]
        worst = max(worst, agreement(theirs, ours, torch.float32).largest)
        flips += int((theirs.argmax(-1) != ours.argmax(-1)).sum())
        count += rows
    told = f"{count} rows, largest difference {worst:.3g} logits (allowed {tol:.3g}), {flips} changed choices"
    return passed_if(worst <= tol and not flips, name, told, {"n_rows": count, "largest": worst, "tolerance": tol})
