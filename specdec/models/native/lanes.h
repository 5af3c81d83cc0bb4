/* Vectors of floats as GCC and clang know them on every processor, and how many rows a tile takes of them. */

#ifdef __AVX512F__
#define LANES 16
#define TILE_ROWS 12 /* two sums for each row, two weights and one input: 27 of 32 registers */
#else
#define LANES 8
#define TILE_ROWS 6 /* 15 of 16 registers */
#endif
#define PANEL (2 * LANES)
#define GROUP 4 /* int8 weights in an int */
#define QUERIES (2 * TILE_ROWS) /* of one key head at a time: they share the turning of its keys */
#define PREFETCH_BYTES 2048 /* ahead; from 1 to 8 KiB no difference was seen */
#define INFINITE __builtin_inff()
#define INLINE static inline __attribute__((always_inline))

typedef long long count;
typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int marks __attribute__((vector_size(4 * LANES)));
typedef float loose __attribute__((vector_size(4 * LANES), aligned(4))); /* anywhere in memory */
typedef unsigned short bfloat16; /* the upper half of a float */
typedef bfloat16 loose_upper __attribute__((vector_size(2 * LANES), aligned(2)));
typedef int loose_words __attribute__((vector_size(4 * LANES), aligned(4)));

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
