/* From query, key and value rows to attended rows: the rotary turn, the cache, and softmax over what each row sees.
 * Keys of a block of slots are turned into a panel, so that scores and sums of values are products like a linear's. */

#include "rows.h"

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
                          rows - i < TILE_ROWS ? rows - i : TILE_ROWS, 4);
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
            multiply_tile(seen, PANEL, values + d, dim, dim - d, scores + i * room, room, n_most, n, 4);
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
