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
#define QUERIES (2 * TILE_ROWS) /* of one key head at a time: they share the turning of its keys */
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
#define LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#else
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define ODD 1, 3, 5, 7, 9, 11, 13, 15
#define LOW 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
#endif
#ifdef __clang__
#define UNROLLED _Pragma("unroll")
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define UNROLLED _Pragma("GCC unroll 16") /* else arrays of vectors stay in memory */
#define PICK(a, b, ...) __builtin_shuffle(a, b, (marks){__VA_ARGS__})
#endif

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

/* panel [n_in][PANEL]: PANEL rows [n_in] side by side, zeros in place of those from `n` on */
static void make_panel(const float *rows, float *panel, count n, count n_in)
{
    for (count i = 0; i < n_in; i += LANES)
        for (int half = 0; half < 2; half++) {
            lanes a[LANES], b[LANES];
            const float *from = rows + half * LANES * n_in + i;
            float *to = panel + i * PANEL + half * LANES;
            for (int row = 0; row < LANES; row++) __builtin_prefetch(from + (PANEL + row) * n_in); /* the next panel's */
            if (n >= (half + 1) * LANES && i + LANES <= n_in)
                UNROLLED for (int row = 0; row < LANES; row++) a[row] = load(from + row * n_in);
            else
                for (int row = 0; row < LANES; row++)
                    a[row] = half * LANES + row < n ? load_first(from + row * n_in, n_in - i) : (lanes){0};
            /* a transpose: log2(LANES) times, the two halves of the rows are merged like cards */
            UNROLLED for (int round = 1; round < LANES; round *= 2) {
                UNROLLED for (int row = 0; row < LANES / 2; row++) {
                    b[2 * row] = PICK(a[row], a[row + LANES / 2], LOW);
                    b[2 * row + 1] = PICK(a[row], a[row + LANES / 2], HIGH);
                }
                UNROLLED for (int row = 0; row < LANES; row++) a[row] = b[row];
            }
            if (i + LANES <= n_in)
                UNROLLED for (int row = 0; row < LANES; row++) store(to + row * PANEL, a[row]);
            else
                for (int row = 0; row < n_in - i; row++) store(to + row * PANEL, a[row]);
        }
}

/* acc [rows] = x [rows, n] times PANEL columns of which `columns` are there, `stride` floats from one input to the next.
 * rows and whole are constants where this is called, so that all sums stay in registers. */
INLINE void products(lanes (*acc)[2], const float *restrict weights, count stride, count columns,
                     const float *restrict x, count x_stride, count n, const int rows, const int whole)
{
    for (int row = 0; row < rows; row++) acc[row][0] = acc[row][1] = (lanes){0};
    for (count i = 0; i < n; i++, weights += stride) {
        lanes w0 = whole ? load(weights) : load_first(weights, columns);
        lanes w1 = whole ? load(weights + LANES) : load_first(weights + LANES, columns - LANES);
        __builtin_prefetch(weights + PREFETCH_FLOATS);
        __builtin_prefetch(weights + PREFETCH_FLOATS + LANES);
        for (int row = 0; row < rows; row++) {
            acc[row][0] += w0 * x[row * x_stride + i];
            acc[row][1] += w1 * x[row * x_stride + i];
        }
    }
}

#define BY_ROWS_6(CALL) \
    case 1: CALL(1); break; \
    case 2: CALL(2); break; \
    case 3: CALL(3); break; \
    case 4: CALL(4); break; \
    case 5: CALL(5); break; \
    case 6: CALL(6); break;
#if TILE_ROWS == 12
#define BY_ROWS(CALL) \
    BY_ROWS_6(CALL) \
    case 7: CALL(7); break; \
    case 8: CALL(8); break; \
    case 9: CALL(9); break; \
    case 10: CALL(10); break; \
    case 11: CALL(11); break; \
    case 12: CALL(12); break;
#else
#define BY_ROWS(CALL) BY_ROWS_6(CALL)
#endif

/* to [rows, columns], to_stride floats from row to row: sums of `products`, rows <= TILE_ROWS */
static void multiply_tile(float *to, count to_stride, const float *weights, count stride, count columns,
                          const float *x, count x_stride, count n, int rows)
{
    lanes acc[TILE_ROWS][2];
    if (columns >= PANEL)
        switch (rows) {
#define CALL(ROWS) products(acc, weights, stride, columns, x, x_stride, n, ROWS, 1); \
                   for (int row = 0; row < ROWS; row++) { \
                       store(to + row * to_stride, acc[row][0]); \
                       store(to + row * to_stride + LANES, acc[row][1]); \
                   }
            BY_ROWS(CALL)
#undef CALL
        }
    else
        for (int row = 0; row < rows; row++) {
            products(acc, weights, stride, columns, x + row * x_stride, x_stride, n, 1, 0);
            store_first(to + row * to_stride, acc[0][0], columns);
            store_first(to + row * to_stride + LANES, acc[0][1], columns - LANES);
        }
}

/* y [q, n_out] = (adds: +=) x [q, n_in] times the weight, plus the bias */
static void multiply(const linear *by, const float *x, float *y, count q, int adds, int t, int T)
{
    const count n_in = by->n_in, n_out = by->n_out;
    range panels = share((n_out + PANEL - 1) / PANEL, t, T);
    for (count panel = panels.from; panel < panels.to; panel++)
        for (count row = 0; row < q; row += TILE_ROWS) {
            int rows = q - row < TILE_ROWS ? (int)(q - row) : TILE_ROWS;
            float tile[TILE_ROWS * PANEL];
            multiply_tile(tile, PANEL, by->panels + panel * n_in * PANEL, PANEL, PANEL, x + row * n_in, n_in, n_in, rows);
            for (int i = 0; i < rows; i++)
                for (count part = 0; part < PANEL; part += LANES) {
                    count first = panel * PANEL + part, left = n_out - first;
                    float *to = y + (row + i) * n_out + first;
                    lanes value = load(tile + i * PANEL + part);
                    if (by->bias) value += load_first(by->bias + first, left);
                    if (adds) value += load_first(to, left);
                    store_first(to, value, left);
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

/* scores [n_padded] of one query become weights, those behind its n slots zero; returns their sum */
static float soften(float *scores, const float *mask, float scale, count n, count n_padded)
{
    lanes most = (lanes){0} - INFINITE, totals = {0};
    for (count slot = 0; slot < n_padded; slot += LANES) {
        lanes values = load(scores + slot) * scale;
        if (mask && slot < n) values += load_first(mask + slot, n - slot);
        for (count i = n > slot ? n - slot : 0; i < LANES; i++) values[i] = -INFINITE;
        most = larger(values, most);
        store(scores + slot, values);
    }
    float largest = most[0];
    for (int i = 1; i < LANES; i++) largest = most[i] > largest ? most[i] : largest;
    for (count slot = 0; slot < n_padded; slot += LANES) {
        lanes weights = exp_of_negative(load(scores + slot) - largest);
        totals += weights;
        store(scores + slot, weights);
    }
    return sum(totals);
}

INLINE count score_room(const block *at) { return (at->n_visible + PANEL - 1) / PANEL * PANEL; }

/* Attention of queries first .. first + rows - 1 of one key head; query i is head i % n_groups of row i / n_groups.
 * Softmax in two passes over the scores [QUERIES, score_room]. */
static void attend(const layer *of, const block *at, const float *qkv, const float *keys, const float *values,
                   float *scores, float *attended, count key_head, count first, int rows)
{
    count dim = of->head_dim, n_all = of->n_heads + 2 * of->n_kv_heads, n_groups = of->n_heads / of->n_kv_heads;
    count n_most = 0, n_seen[QUERIES], room = score_room(at);
    float queries[QUERIES * dim], panel[dim * PANEL], totals[QUERIES];
    for (int i = 0; i < rows; i++) {
        count row = (first + i) / n_groups, head = key_head * n_groups + (first + i) % n_groups;
        __builtin_memcpy(queries + i * dim, qkv + (row * n_all + head) * dim, dim * sizeof *queries);
        n_seen[i] = n_seen_by(at, row);
        n_most = n_seen[i] > n_most ? n_seen[i] : n_most;
    }
    for (count slot = 0; slot < n_most; slot += PANEL) {
        make_panel(keys + slot * dim, panel, n_most - slot, dim);
        for (int i = 0; i < rows; i += TILE_ROWS)
            multiply_tile(scores + i * room + slot, room, panel, PANEL, PANEL, queries + i * dim, dim, dim,
                          rows - i < TILE_ROWS ? rows - i : TILE_ROWS);
    }
    for (int i = 0; i < rows; i++) {
        const float *mask = at->mask ? at->mask + (first + i) / n_groups * at->n_visible : 0;
        totals[i] = soften(scores + i * room, mask, 1.0f / __builtin_sqrtf((float)dim), n_seen[i],
                           (n_most + LANES - 1) / LANES * LANES);
    }
    for (count d = 0; d < dim; d += PANEL)
        for (int i = 0; i < rows; i += TILE_ROWS) {
            int n = rows - i < TILE_ROWS ? rows - i : TILE_ROWS;
            float seen[TILE_ROWS * PANEL];
            multiply_tile(seen, PANEL, values + d, dim, dim - d, scores + i * room, room, n_most, n);
            for (int j = 0; j < n; j++) {
                count row = (first + i + j) / n_groups, head = key_head * n_groups + (first + i + j) % n_groups;
                for (count part = d; part < dim && part < d + PANEL; part += LANES)
                    store_first(attended + (row * of->n_heads + head) * dim + part,
                                load_first(seen + j * PANEL + part - d, dim - part) / totals[i + j], dim - part);
            }
        }
}

/* attended [q, n_heads * head_dim]; key heads outside, so that their queries find keys and values in the cache */
static void attend_all(const layer *of, const block *at, const float *qkv, const float *keys, const float *values,
                       float *scores, float *attended, int t, int T)
{
    count n_queries = at->q * of->n_heads / of->n_kv_heads;
    range items = share(of->n_kv_heads * n_queries, t, T);
    for (count item = items.from; item < items.to;) {
        count key_head = item / n_queries, first = item % n_queries, rows = QUERIES;
        if (rows > n_queries - first) rows = n_queries - first;
        if (rows > items.to - item) rows = items.to - item;
        attend(of, at, qkv, keys + key_head * at->head_stride, values + key_head * at->head_stride, scores, attended,
               key_head, first, (int)rows);
        item += rows;
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
