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

#ifdef __AVX512F__
#define LANES 16
#define TILE_ROWS 12 /* two sums for each row, two weights and one input: 27 of 32 registers */
#else
#define LANES 8
#define TILE_ROWS 6 /* 15 of 16 registers */
#endif
#define PANEL (2 * LANES)
#define PREFETCH_FLOATS 512 /* 2 KiB ahead; from 1 to 8 KiB no difference was seen */
#define INFINITE __builtin_inff()
#define INLINE static inline __attribute__((always_inline))

typedef long long count;
typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int marks __attribute__((vector_size(4 * LANES)));
typedef float loose __attribute__((vector_size(4 * LANES), aligned(4))); /* anywhere in memory */

/* weight [n_out, n_in] in panels [ceil(n_out / PANEL)][n_in][PANEL], zeros behind the last output; bias or NULL */
typedef struct {
    const float *panels, *bias;
    count n_out, n_in;
} linear;

/* query_key_norm: [n_heads + n_kv_heads, head_dim], or NULL */
typedef struct {
    linear qkv, out, gate_up, down;
    const float *attention_norm, *mlp_norm, *query_key_norm;
    count hidden, n_heads, n_kv_heads, head_dim, intermediate;
    float eps;
} layer;

/* Where the q rows stand: slots [q], cosine and signed_sine [q, head_dim], mask [q, n_visible] added to the scores
 * (NULL: one row that sees all, or rows in causal order with nothing before them). A head's keys are head_stride floats
 * from the next one's. work: at least specdec_work_floats() floats. */
typedef struct {
    count q, n_visible, head_stride;
    const count *slots;
    const float *cosine, *signed_sine, *mask;
    float *work;
} block;

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

/* ---- lanes ------------------------------------------------------------------------------------------------------ */

INLINE lanes load(const float *from) { return *(const loose *)from; }

INLINE void store(float *to, lanes values) { *(loose *)to = values; }

/* the first n floats, then zeros; n < LANES at the end of a row */
INLINE lanes load_first(const float *from, count n)
{
    if (n >= LANES) return load(from);
    lanes values = {0};
    for (count i = 0; i < n; i++) values[i] = from[i];
    return values;
}

INLINE void store_first(float *to, lanes values, count n)
{
    if (n >= LANES) store(to, values);
    else for (count i = 0; i < n; i++) to[i] = values[i];
}

INLINE lanes choose(marks mask, lanes yes, lanes no) { return (lanes)((mask & (marks)yes) | (~mask & (marks)no)); }

INLINE lanes larger(lanes a, lanes b) { return choose(a > b, a, b); }

#if LANES == 16
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#else
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define ODD 1, 3, 5, 7, 9, 11, 13, 15
#endif
#ifdef __clang__
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK(a, b, ...) __builtin_shuffle(a, b, (marks){__VA_ARGS__})
#endif

/* lane i of the result: the sum of all lanes of values[i] (neighbours are added, log2(LANES) times) */
INLINE lanes sums(lanes *values)
{
    for (int n = LANES / 2; n; n /= 2)
        for (int i = 0; i < n; i++)
            values[i] = PICK(values[2 * i], values[2 * i + 1], EVEN) + PICK(values[2 * i], values[2 * i + 1], ODD);
    return values[0];
}

INLINE float sum(lanes values)
{
    for (int n = LANES / 2; n; n /= 2) values = PICK(values, values, EVEN) + PICK(values, values, ODD);
    return values[0];
}

/* e^x for x <= 0 to about 1 in the last place, exactly 0 below -87 (Cody and Waite 1980: 2^n e^r, |r| <= ln 2 / 2) */
INLINE lanes exp_of_negative(lanes x)
{
    marks tiny = x < -87.0f;
    x = choose(tiny, (lanes){0}, x);
    lanes n = (x * 1.44269504f + 12582912.0f) - 12582912.0f; /* rounded: 1.5 * 2^23 leaves no bits for a fraction */
    lanes r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    lanes p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    marks power = (__builtin_convertvector(n, marks) + 127) << 23;
    return choose(tiny, (lanes){0}, p * (lanes)power);
}

/* ---- shares of the work: each function does thread t's part of T -------------------------------------------------- */

typedef struct {
    count from, to;
} range;

INLINE range share(count n, int t, int T) { return (range){n * t / T, n * (t + 1) / T}; }

/* Zhang and Sennrich 2019 */
static void norm_row(float *restrict to, const float *restrict from, const float *restrict weight, float eps, count n)
{
    lanes squares = {0};
    for (count i = 0; i < n; i += LANES) {
        lanes values = load_first(from + i, n - i);
        squares += values * values;
    }
    float scale = 1.0f / __builtin_sqrtf(eps + sum(squares) / (float)n);
    for (count i = 0; i < n; i += LANES)
        store_first(to + i, load_first(from + i, n - i) * scale * load_first(weight + i, n - i), n - i);
}

static void norm_rows(float *to, const float *from, const float *weight, float eps, count q, count n, int t, int T)
{
    range rows = share(q, t, T);
    for (count row = rows.from; row < rows.to; row++) norm_row(to + row * n, from + row * n, weight, eps, n);
}

/* One panel for `rows` rows; a constant where this is called, so that all sums stay in registers. */
INLINE void tile(const linear *by, count panel, const float *restrict x, float *restrict y, int adds, const int rows)
{
    const count n_in = by->n_in, column = panel * PANEL;
    const float *weights = by->panels + panel * n_in * PANEL;
    lanes acc[TILE_ROWS][2];
    for (int row = 0; row < rows; row++) acc[row][0] = acc[row][1] = (lanes){0};
    for (count i = 0; i < n_in; i++, weights += PANEL) {
        lanes w0 = load(weights), w1 = load(weights + LANES);
        __builtin_prefetch(weights + PREFETCH_FLOATS);
        __builtin_prefetch(weights + PREFETCH_FLOATS + LANES);
        for (int row = 0; row < rows; row++) {
            acc[row][0] += w0 * x[row * n_in + i];
            acc[row][1] += w1 * x[row * n_in + i];
        }
    }
    for (int row = 0; row < rows; row++)
        for (int half = 0; half < 2; half++) {
            count first = column + half * LANES, left = by->n_out - first;
            if (left <= 0) continue;
            float *to = y + row * by->n_out + first;
            lanes value = acc[row][half];
            if (by->bias) value += load_first(by->bias + first, left);
            if (adds) value += load_first(to, left);
            store_first(to, value, left);
        }
}

/* y [q, n_out] = (adds: +=) x [q, n_in] times the weight, plus the bias */
static void multiply(const linear *by, const float *x, float *y, count q, int adds, int t, int T)
{
    range panels = share((by->n_out + PANEL - 1) / PANEL, t, T);
    for (count panel = panels.from; panel < panels.to; panel++)
        for (count row = 0; row < q; row += TILE_ROWS) {
            const float *from = x + row * by->n_in;
            float *to = y + row * by->n_out;
            switch (q - row) {
            case 1: tile(by, panel, from, to, adds, 1); break;
            case 2: tile(by, panel, from, to, adds, 2); break;
            case 3: tile(by, panel, from, to, adds, 3); break;
            case 4: tile(by, panel, from, to, adds, 4); break;
            case 5: tile(by, panel, from, to, adds, 5); break;
#if TILE_ROWS > 6
            case 6: tile(by, panel, from, to, adds, 6); break;
            case 7: tile(by, panel, from, to, adds, 7); break;
            case 8: tile(by, panel, from, to, adds, 8); break;
            case 9: tile(by, panel, from, to, adds, 9); break;
            case 10: tile(by, panel, from, to, adds, 10); break;
            case 11: tile(by, panel, from, to, adds, 11); break;
#endif
            default: tile(by, panel, from, to, adds, TILE_ROWS);
            }
        }
}

/* Dimension i is paired with i + head_dim / 2 (specdec.models.rope). */
static void turn(float *restrict head, const float *restrict cosine, const float *restrict signed_sine, count half)
{
    for (count i = 0; i < half; i++) {
        float first = head[i], second = head[i + half];
        head[i] = first * cosine[i] + second * signed_sine[i];
        head[i + half] = second * cosine[i + half] + first * signed_sine[i + half];
    }
}

/* Heads of qkv [q, n_heads + 2 n_kv_heads, head_dim]: queries and keys normed and turned, keys and values kept. */
static void place_heads(const layer *of, const block *at, float *qkv, float *keys, float *values, int t, int T)
{
    count dim = of->head_dim, n_turned = of->n_heads + of->n_kv_heads, n_all = n_turned + of->n_kv_heads;
    range items = share(at->q * n_all, t, T);
    for (count item = items.from; item < items.to; item++) {
        count row = item / n_all, which = item % n_all;
        float *head = qkv + item * dim;
        if (which < n_turned) {
            if (of->query_key_norm) {
                float normed[dim];
                norm_row(normed, head, of->query_key_norm + which * dim, of->eps, dim);
                __builtin_memcpy(head, normed, sizeof normed);
            }
            turn(head, at->cosine + row * dim, at->signed_sine + row * dim, dim / 2);
        }
        if (which < of->n_heads) continue;
        float *kept = which < n_turned ? keys + (which - of->n_heads) * at->head_stride
                                       : values + (which - n_turned) * at->head_stride;
        __builtin_memcpy(kept + at->slots[row] * dim, head, dim * sizeof *head);
    }
}

/* slots up to the last one that the row sees */
static count n_seen_by(const block *at, count row)
{
    if (!at->mask) return at->q == 1 ? at->n_visible : row + 1;
    count n = at->n_visible;
    while (n > 1 && at->mask[row * at->n_visible + n - 1] == -INFINITE) n--;
    return n;
}

/* scores [n rounded up to LANES]: query . key / sqrt(head_dim) + mask; -inf behind the n slots. Returns the largest. */
static float score(const float *query, const float *keys, const float *mask, float *scores, count n, count dim)
{
    float scale = 1.0f / __builtin_sqrtf((float)dim);
    lanes most = (lanes){0} - INFINITE;
    for (count slot = 0; slot < n; slot += LANES) {
        lanes products[LANES];
        for (int i = 0; i < LANES; i++) {
            products[i] = (lanes){0};
            if (slot + i >= n) continue;
            const float *key = keys + (slot + i) * dim;
            for (count d = 0; d < dim; d += LANES)
                products[i] += load_first(query + d, dim - d) * load_first(key + d, dim - d);
        }
        lanes values = sums(products) * scale;
        if (mask) values += load_first(mask + slot, n - slot);
        for (count i = n - slot; i < LANES; i++) values[i] = -INFINITE;
        most = larger(values, most);
        store(scores + slot, values);
    }
    float largest = most[0];
    for (int i = 1; i < LANES; i++) largest = most[i] > largest ? most[i] : largest;
    return largest;
}

#define SEEN_LANES 4 /* sums that one walk through the values keeps in registers: 64 dimensions on AVX-512 */

/* to [head_dim]: one query head over the slots of its key head; softmax in two passes (scores: room for n + LANES) */
static void attend(const float *query, const float *keys, const float *values, const float *mask, float *scores,
                   float *to, count n, count dim)
{
    float largest = score(query, keys, mask, scores, n, dim);
    lanes totals = {0};
    for (count slot = 0; slot < n; slot += LANES) {
        lanes weights = exp_of_negative(load(scores + slot) - largest);
        totals += weights;
        store(scores + slot, weights);
    }
    float total = sum(totals);
    for (count first = 0; first < dim; first += SEEN_LANES * LANES) {
        lanes seen[SEEN_LANES] = {{0}};
        if (first + SEEN_LANES * LANES <= dim)
            for (count slot = 0; slot < n; slot++)
                for (int part = 0; part < SEEN_LANES; part++)
                    seen[part] += load(values + slot * dim + first + part * LANES) * scores[slot];
        else
            for (count slot = 0; slot < n; slot++)
                for (int part = 0; part < SEEN_LANES; part++) {
                    count d = first + part * LANES;
                    if (d < dim) seen[part] += load_first(values + slot * dim + d, dim - d) * scores[slot];
                }
        for (int part = 0; part < SEEN_LANES; part++) {
            count d = first + part * LANES;
            if (d < dim) store_first(to + d, seen[part] / total, dim - d);
        }
    }
}

/* attended [q, n_heads * head_dim]; heads outside, so that the rows of one head find its keys in the cache */
static void attend_all(const layer *of, const block *at, const float *qkv, const float *keys, const float *values,
                       float *scores, float *attended, int t, int T)
{
    count dim = of->head_dim, n_all = of->n_heads + 2 * of->n_kv_heads, n_groups = of->n_heads / of->n_kv_heads;
    range items = share(at->q * of->n_heads, t, T);
    for (count item = items.from; item < items.to; item++) {
        count head = item / at->q, row = item % at->q, kept = head / n_groups * at->head_stride;
        attend(qkv + (row * n_all + head) * dim, keys + kept, values + kept,
               at->mask ? at->mask + row * at->n_visible : 0, scores, attended + (row * of->n_heads + head) * dim,
               n_seen_by(at, row), dim);
    }
}

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

static count score_room(const block *at) { return (at->n_visible + 2 * LANES - 1) / LANES * LANES; }

/* Floats of `work`: normed rows, qkv, attended rows, gate and up, gated rows, and scores for each thread. */
count specdec_work_floats(const layer *of, const block *at, int threads)
{
    count per_row = of->hidden + of->qkv.n_out + of->out.n_in + of->gate_up.n_out + of->intermediate;
    return at->q * per_row + threads * score_room(at);
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
    float *scores = gated + q * of->intermediate + t * score_room(at);

    norm_rows(normed, job->hidden, of->attention_norm, of->eps, q, of->hidden, t, T);
    barrier();
    multiply(&of->qkv, normed, qkv, q, 0, t, T);
    barrier();
    place_heads(of, at, qkv, job->keys, job->values, t, T);
    barrier();
    attend_all(of, at, qkv, job->keys, job->values, scores, attended, t, T);
    barrier();
    multiply(&of->out, attended, job->hidden, q, 1, t, T);
    barrier();
    norm_rows(normed, job->hidden, of->mlp_norm, of->eps, q, of->hidden, t, T);
    barrier();
    multiply(&of->gate_up, normed, gate_up, q, 0, t, T);
    barrier();
    gate(gate_up, gated, q, of->intermediate, t, T);
    barrier();
    multiply(&of->down, gated, job->hidden, q, 1, t, T);
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
    count q;
} linear_job;

static void linear_share(void *given)
{
    const linear_job *job = given;
    multiply(job->by, job->x, job->y, job->q, 0, thread_number(), team_size());
}

/* y [q, n_out] = x [q, n_in] times the weight, plus the bias */
void specdec_linear(const linear *by, const float *x, float *y, count q, int threads)
{
    linear_job job = {by, x, y, q};
    run_parallel(linear_share, &job, threads, 0);
}

/* to [q, n] = RMS norm of from [q, n] */
void specdec_norm(const float *from, const float *weight, float *to, count q, count n, float eps)
{
    norm_rows(to, from, weight, eps, q, n, 0, 1);
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
    for (count panel = panels.from; panel < panels.to; panel++) {
        float *to = job->panels + panel * job->n_in * PANEL;
        for (count i = 0; i < job->n_in; i++)
            for (count row = 0; row < PANEL; row++) {
                count output = panel * PANEL + row;
                *to++ = output < job->n_out ? job->weight[output * job->n_in + i] : 0.0f;
            }
    }
}

/* A weight [n_out, n_in] into the panels of `linear`; floats needed: specdec_panel_floats(). */
void specdec_pack(const float *weight, float *panels, count n_out, count n_in, int threads)
{
    pack_job job = {weight, panels, n_out, n_in};
    run_parallel(pack_share, &job, threads, 0);
}

count specdec_panel_floats(count n_out, count n_in) { return (n_out + PANEL - 1) / PANEL * PANEL * n_in; }
