/* What is done to rows: norms, and products with weights that are stored in the order in which they are read.
 * Functions that take t and T do thread t's part of T. */

#include "lanes.h"

/* weight [n_out, n_in] in panels [ceil(n_out / PANEL)][n_in][PANEL], zeros behind the last output; bias or NULL.
 * width is that of a weight in bytes. 4: float. 2: bfloat16, for weights of which each is one: half as much to read, and
 * the same products. 1: int8, to be multiplied by scales [n_out] (otherwise NULL); a panel is then
 * [ceil(n_in / GROUP)][PANEL][GROUP], zeros behind the last input. Four in an int are widened by shifts of whole vectors;
 * of single bytes gcc 12 converts one after the other. */
typedef struct {
    const void *panels;
    const float *bias, *scales;
    count n_out, n_in, width;
} linear;

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

/* LANES weights, `columns` of them there if not whole */
INLINE lanes load_weights(const char *from, count columns, const int whole, const int width)
{
    if (width == 2) return (lanes)(__builtin_convertvector(*(const loose_upper *)from, marks) << 16);
    return whole ? load((const float *)from) : load_first((const float *)from, columns);
}

/* acc [rows] = x [rows, n] times PANEL columns of which `columns` are there, `stride` weights from one input to the next.
 * rows, whole and width are constants where this is called, so that all sums stay in registers. */
INLINE void products(lanes (*acc)[2], const void *restrict weights, count stride, count columns,
                     const float *restrict x, count x_stride, count n, const int rows, const int whole, const int width)
{
    const char *from = weights;
    for (int row = 0; row < rows; row++) acc[row][0] = acc[row][1] = (lanes){0};
    for (count i = 0; i < n; i++, from += stride * width) {
        lanes w0 = load_weights(from, columns, whole, width);
        lanes w1 = load_weights(from + LANES * width, columns - LANES, whole, width);
        for (count line = 0; line < PANEL * width; line += 64) __builtin_prefetch(from + PREFETCH_BYTES + line);
        for (int row = 0; row < rows; row++) {
            acc[row][0] += w0 * x[row * x_stride + i];
            acc[row][1] += w1 * x[row * x_stride + i];
        }
    }
}

#define UPPERMOST (~0xFFFFFF) /* the byte of an int that holds its sign */

/* `products` with a panel of int8: 2^24 times those of its numbers, as a byte moved to the top of an int is a float after
 * one step more. One half of the outputs after the other needs fewer registers. */
INLINE void byte_products(lanes (*acc)[2], const void *restrict weights, const float *restrict x, count x_stride, count n,
                          const int rows)
{
    const loose_words *from = weights;
    for (int row = 0; row < rows; row++) acc[row][0] = acc[row][1] = (lanes){0};
    for (count i = 0; i < n; i += GROUP, from += 2) {
        const int inputs = n - i < GROUP ? (int)(n - i) : GROUP;
        for (count line = 0; line < PANEL * GROUP; line += 64)
            __builtin_prefetch((const char *)from + PREFETCH_BYTES + line);
        UNROLLED for (int half = 0; half < 2; half++)
            UNROLLED for (int j = 0; j < GROUP; j++) {
                if (j == inputs) break;
                lanes w = __builtin_convertvector((from[half] << 8 * (GROUP - 1 - j)) & UPPERMOST, lanes);
                for (int row = 0; row < rows; row++) acc[row][half] += w * x[row * x_stride + i + j];
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

/* to [rows, columns], to_stride floats from row to row: sums of `products`, rows <= TILE_ROWS.
 * Weights below a width of 4 are in whole panels. */
static void multiply_tile(float *to, count to_stride, const void *weights, count stride, count columns,
                          const float *x, count x_stride, count n, int rows, int width)
{
    lanes acc[TILE_ROWS][2];
#define KEEP(ROWS) \
    for (int row = 0; row < ROWS; row++) { \
        store(to + row * to_stride, acc[row][0]); \
        store(to + row * to_stride + LANES, acc[row][1]); \
    }
#define BYTE_CALL(ROWS) byte_products(acc, weights, x, x_stride, n, ROWS); KEEP(ROWS)
#define UPPER_CALL(ROWS) products(acc, weights, stride, columns, x, x_stride, n, ROWS, 1, 2); KEEP(ROWS)
#define CALL(ROWS) products(acc, weights, stride, columns, x, x_stride, n, ROWS, 1, 4); KEEP(ROWS)
    if (width == 1)
        switch (rows) { BY_ROWS(BYTE_CALL) }
    else if (width == 2)
        switch (rows) { BY_ROWS(UPPER_CALL) }
    else if (columns >= PANEL)
        switch (rows) { BY_ROWS(CALL) }
#undef CALL
#undef UPPER_CALL
#undef BYTE_CALL
#undef KEEP
    else
        for (int row = 0; row < rows; row++) {
            products(acc, weights, stride, columns, x + row * x_stride, x_stride, n, 1, 0, 4);
            store_first(to + row * to_stride, acc[0][0], columns);
            store_first(to + row * to_stride + LANES, acc[0][1], columns - LANES);
        }
}

/* y [q, n_out], y_stride floats from row to row, = (adds: +=) x [q, n_in] times the weight, plus the bias.
 * A scale is applied once, to the finished sum. */
static void multiply(const linear *by, const float *x, float *y, count y_stride, count q, int adds, int t, int T)
{
    const count n_in = by->n_in, n_out = by->n_out, n_kept = by->width == 1 ? (n_in + GROUP - 1) / GROUP * GROUP : n_in;
    const count panel_bytes = n_kept * PANEL * by->width;
    range panels = share((n_out + PANEL - 1) / PANEL, t, T);
    for (count panel = panels.from; panel < panels.to; panel++)
        for (count row = 0; row < q; row += TILE_ROWS) {
            int rows = q - row < TILE_ROWS ? (int)(q - row) : TILE_ROWS;
            float tile[TILE_ROWS * PANEL];
            multiply_tile(tile, PANEL, (const char *)by->panels + panel * panel_bytes, PANEL, PANEL, x + row * n_in, n_in,
                          n_in, rows, (int)by->width);
            for (int i = 0; i < rows; i++)
                for (count part = 0; part < PANEL; part += LANES) {
                    count first = panel * PANEL + part, left = n_out - first;
                    float *to = y + (row + i) * y_stride + first;
                    lanes value = load(tile + i * PANEL + part);
                    if (by->scales) value *= load_first(by->scales + first, left) * 0x1p-24f;
                    if (by->bias) value += load_first(by->bias + first, left);
                    if (adds) value += load_first(to, left);
                    store_first(to, value, left);
                }
        }
}
