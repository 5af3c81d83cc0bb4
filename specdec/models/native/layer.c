/* One decoder layer of a Llama, Qwen2 or Qwen3 model in float32: norm, projections, rotary turn, attention, MLP.
 *
 * A decoding step reads every weight once and does little else, so weights are stored in the order in which they are
 * read: panels of PANEL outputs, in each the inputs one after the other. A panel is read once for a whole tile of rows;
 * two or three rows then take little longer than one.
 *
 * What is computed for a row does not depend on the other rows, on how a prompt was split, or on the room behind the
 * text: every sum runs over inputs, or over slots, in one order, and a hidden slot adds exactly zero. So a token that
 * is verified among others gets the same bits as one that is decoded alone. Hence no -ffast-math, and no libm.
 *
 * Threads are those of the OpenMP runtime that torch has loaded; its four functions are handed in (`specdec_threads`),
 * so that no compiler needs OpenMP and there is one pool of threads, not two. */

#include "attention.h"

static void (*run_parallel)(void (*)(void *), void *, unsigned, unsigned);
static void (*barrier)(void);
static int (*thread_number)(void);
static int (*team_size)(void);

void specdec_threads(void *parallel, void *wait, void *number, void *size)
{
    run_parallel = (void (*)(void (*)(void *), void *, unsigned, unsigned))parallel;
    barrier = (void (*)(void))wait;
    thread_number = (int (*)(void))number;
    team_size = (int (*)(void))size;
}

const char *specdec_compiler(void) { return __VERSION__; }

/* to [q, n] = silu(gate) * up, gate_up being [q, 2 n] */
static void gate(const float *restrict gate_up, float *restrict to, count q, count n, int t, int T)
{
    count n_parts = (n + LANES - 1) / LANES;
    range items = share(q * n_parts, t, T);
    for (count item = items.from; item < items.to; item++) {
        count row = item / n_parts, i = item % n_parts * LANES;
        const float *from = gate_up + row * 2 * n + i;
        lanes g = load_first(from, n - i), up = load_first(from + n, n - i);
        lanes e = exp_of_negative(choose(g < 0.0f, g, -g));
        store_first(to + row * n + i, g * choose(g < 0.0f, e, (lanes){0} + 1.0f) / (1.0f + e) * up, n - i);
    }
}

/* ---- what Python calls ------------------------------------------------------------------------------------------ */

/* Floats of `work`: normed rows, qkv, attended rows, gate and up, gated rows, and scores for each thread. */
count specdec_work_floats(const layer *of, const block *at, int threads)
{
    count per_row = of->hidden + of->qkv.n_out + of->out.n_in + of->gate_up.n_out + of->intermediate;
    return at->q * per_row + threads * QUERIES * score_room(at);
}

typedef struct {
    const layer *of;
    const block *at;
    float *hidden, *keys, *values;
} layer_job;

static void layer_share(void *given)
{
    const layer_job *job = given;
    const layer *of = job->of;
    const block *at = job->at;
    int t = thread_number(), T = team_size();
    count q = at->q;
    float *normed = at->work, *qkv = normed + q * of->hidden, *attended = qkv + q * of->qkv.n_out;
    float *gate_up = attended + q * of->out.n_in, *gated = gate_up + q * of->gate_up.n_out;
    float *scores = gated + q * of->intermediate + t * QUERIES * score_room(at);

    norm_rows(normed, job->hidden, of->attention_norm, of->eps, q, of->hidden, t, T);
    barrier();
    multiply(&of->qkv, normed, qkv, of->qkv.n_out, q, 0, t, T);
    barrier();
    place_heads(of, at, qkv, job->keys, job->values, t, T);
    barrier();
    attend_all(of, at, qkv, job->keys, job->values, scores, attended, t, T);
    barrier();
    multiply(&of->out, attended, job->hidden, of->hidden, q, 1, t, T);
    barrier();
    norm_rows(normed, job->hidden, of->mlp_norm, of->eps, q, of->hidden, t, T);
    barrier();
    multiply(&of->gate_up, normed, gate_up, of->gate_up.n_out, q, 0, t, T);
    barrier();
    gate(gate_up, gated, q, of->intermediate, t, T);
    barrier();
    multiply(&of->down, gated, job->hidden, of->hidden, q, 1, t, T);
}

/* One layer, in place on hidden [q, hidden]; keys and values [n_kv_heads, slots, head_dim] are written and read. */
void specdec_layer(const layer *of, const block *at, float *hidden, float *keys, float *values, int threads)
{
    layer_job job = {of, at, hidden, keys, values};
    run_parallel(layer_share, &job, threads, 0);
}

typedef struct {
    const linear *by;
    const float *x;
    float *y;
    count y_stride, q;
} linear_job;

static void linear_share(void *given)
{
    const linear_job *job = given;
    multiply(job->by, job->x, job->y, job->y_stride, job->q, 0, thread_number(), team_size());
}

/* y [q, n_out], y_stride floats from row to row, = x [q, n_in] times the weight, plus the bias */
void specdec_linear(const linear *by, const float *x, float *y, count y_stride, count q, int threads)
{
    linear_job job = {by, x, y, y_stride, q};
    run_parallel(linear_share, &job, threads, 0);
}

/* to [q, n] = RMS norm of from [q, n]; eps [1] */
void specdec_norm(const float *from, const float *weight, float *to, count q, count n, const float *eps)
{
    norm_rows(to, from, weight, *eps, q, n, 0, 1);
}

typedef struct {
    const float *weight;
    float *panels;
    count n_out, n_in;
} pack_job;

static void pack_share(void *given)
{
    const pack_job *job = given;
    range panels = share((job->n_out + PANEL - 1) / PANEL, thread_number(), team_size());
    for (count panel = panels.from; panel < panels.to; panel++)
        make_panel(job->weight + panel * PANEL * job->n_in, job->panels + panel * PANEL * job->n_in,
                   job->n_out - panel * PANEL, job->n_in);
}

/* A weight [n_out, n_in] into the panels of `linear`; floats needed: specdec_panel_floats(). */
void specdec_pack(const float *weight, float *panels, count n_out, count n_in, int threads)
{
    pack_job job = {weight, panels, n_out, n_in};
    run_parallel(pack_share, &job, threads, 0);
}

count specdec_panel_floats(count n_out, count n_in) { return (n_out + PANEL - 1) / PANEL * PANEL * n_in; }
