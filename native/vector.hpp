// A fixed-width vector of T, the only SIMD vocabulary of the tile code.
//
// GCC and clang get their vector extensions; any other compiler (or FWSVM_PLAIN_VECTORS) gets a plain
// array with the same operators. The width in bytes comes from the build, once per instruction set.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#if !defined(FWSVM_VECTOR_BYTES)
#define FWSVM_VECTOR_BYTES 16
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define FWSVM_UNROLL _Pragma("GCC unroll 32")
#elif defined(__clang__)
#define FWSVM_UNROLL _Pragma("unroll")
#else
#define FWSVM_UNROLL
#endif

namespace fwsvm {
namespace FWSVM_INSTRUCTION_SET {  // no symbol may be shared between instruction sets

template <class T> struct Scalar;
template <> struct Scalar<float> {
    using Bits = int32_t;
    static constexpr int mantissa_bits = 23;
    static constexpr Bits magnitude_mask = 0x7fffffff;
    static constexpr float round_shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    static constexpr float smallest_exponent = -120.0f;  // below it exp2 returns 2^-120: no denormals
    static constexpr float largest_exponent = 126.0f;
};
template <> struct Scalar<double> {
    using Bits = int64_t;
    static constexpr int mantissa_bits = 52;
    static constexpr Bits magnitude_mask = 0x7fffffffffffffff;
    static constexpr double round_shift = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr double smallest_exponent = -1000.0;
    static constexpr double largest_exponent = 1022.0;
};

template <class T> constexpr int lanes = FWSVM_VECTOR_BYTES / sizeof(T);

#if (defined(__GNUC__) || defined(__clang__)) && !defined(FWSVM_PLAIN_VECTORS)

template <class T> struct VectorOf {
    typedef T Type __attribute__((vector_size(FWSVM_VECTOR_BYTES)));
};
template <class T> using Vector = typename VectorOf<T>::Type;
template <class T> using BitsVector = typename VectorOf<typename Scalar<T>::Bits>::Type;

template <class T> inline Vector<T> absolute(Vector<T> x) {
    return (Vector<T>)((BitsVector<T>)x & Scalar<T>::magnitude_mask);
}
template <class T> inline Vector<T> minimum(Vector<T> x, Vector<T> y) { return x < y ? x : y; }
template <class T> inline Vector<T> maximum(Vector<T> x, Vector<T> y) { return x > y ? x : y; }
// x * 2^n, where the low bits of `shifted` = n + round_shift hold the integer n.
template <class T> inline Vector<T> scale_by_power(Vector<T> x, Vector<T> shifted) {
    return (Vector<T>)((BitsVector<T>)x + ((BitsVector<T>)shifted << Scalar<T>::mantissa_bits));
}

#else

template <class T> struct Vector {
    T lane[lanes<T>];
    T& operator[](int i) { return lane[i]; }
    T operator[](int i) const { return lane[i]; }
};
#define FWSVM_LANEWISE(op)                                                                  \
    template <class T> inline Vector<T> operator op(Vector<T> x, Vector<T> y) {             \
        for (int i = 0; i < lanes<T>; ++i) x.lane[i] = x.lane[i] op y.lane[i];              \
        return x;                                                                           \
    }                                                                                       \
    template <class T> inline Vector<T> operator op(Vector<T> x, T y) {                     \
        for (int i = 0; i < lanes<T>; ++i) x.lane[i] = x.lane[i] op y;                      \
        return x;                                                                           \
    }                                                                                       \
    template <class T> inline Vector<T>& operator op##=(Vector<T>& x, Vector<T> y) {        \
        return x = x op y;                                                                  \
    }
FWSVM_LANEWISE(+)
FWSVM_LANEWISE(-)
FWSVM_LANEWISE(*)
FWSVM_LANEWISE(/)
#undef FWSVM_LANEWISE

template <class T> inline Vector<T> absolute(Vector<T> x) {
    for (int i = 0; i < lanes<T>; ++i) x.lane[i] = x.lane[i] < 0 ? -x.lane[i] : x.lane[i];
    return x;
}
template <class T> inline Vector<T> minimum(Vector<T> x, Vector<T> y) {
    for (int i = 0; i < lanes<T>; ++i) x.lane[i] = x.lane[i] < y.lane[i] ? x.lane[i] : y.lane[i];
    return x;
}
template <class T> inline Vector<T> maximum(Vector<T> x, Vector<T> y) {
    for (int i = 0; i < lanes<T>; ++i) x.lane[i] = x.lane[i] > y.lane[i] ? x.lane[i] : y.lane[i];
    return x;
}
template <class T> inline Vector<T> scale_by_power(Vector<T> x, Vector<T> shifted) {
    using Bits = typename Scalar<T>::Bits;
    for (int i = 0; i < lanes<T>; ++i) {
        Bits value, power;
        std::memcpy(&value, &x.lane[i], sizeof(T));
        std::memcpy(&power, &shifted.lane[i], sizeof(T));
        // unsigned: the high bits of the shift are meant to fall off
        value = Bits(uint64_t(value) + (uint64_t(power) << Scalar<T>::mantissa_bits));
        std::memcpy(&x.lane[i], &value, sizeof(T));
    }
    return x;
}

#endif

// The low (high) halves of x and y, a lane of each in turn.
#if defined(__has_builtin) && !defined(FWSVM_PLAIN_VECTORS)
#if __has_builtin(__builtin_shufflevector)
#define FWSVM_SHUFFLES
#endif
#endif
#if defined(FWSVM_SHUFFLES)
template <class T, int first, int... lane>
inline Vector<T> interleave_from(Vector<T> x, Vector<T> y, std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(x, y, (first + lane / 2 + (lane % 2) * lanes<T>)...);
}
template <class T, int first> inline Vector<T> interleave_from(Vector<T> x, Vector<T> y) {
    return interleave_from<T, first>(x, y, std::make_integer_sequence<int, lanes<T>>());
}
#else
template <class T, int first> inline Vector<T> interleave_from(Vector<T> x, Vector<T> y) {
    Vector<T> mixed;
    for (int i = 0; i < lanes<T>; ++i) mixed[i] = i % 2 ? y[first + i / 2] : x[first + i / 2];
    return mixed;
}
#endif
template <class T> inline Vector<T> interleave_low(Vector<T> x, Vector<T> y) { return interleave_from<T, 0>(x, y); }
template <class T> inline Vector<T> interleave_high(Vector<T> x, Vector<T> y) {
    return interleave_from<T, lanes<T> / 2>(x, y);
}

template <class T> inline Vector<T> load(const T* from) {
    Vector<T> x;
    std::memcpy(&x, from, sizeof x);
    return x;
}
template <class T> inline void store(T* to, Vector<T> x) { std::memcpy(to, &x, sizeof x); }
template <class T> inline Vector<T> broadcast(T value) { return Vector<T>{} + value; }

// 2^y. Polynomials of 2^f on [-1/2, 1/2] with constant term 1, so that exp2(0) = 1 exactly; the
// other coefficients minimise the largest relative error (9.2e-8 for float, 3.4e-18 for double).
inline Vector<float> exp2_fraction(Vector<float> f) {
    Vector<float> p = broadcast(0.00132647220461824208f);
    p = p * f + 0.00967151299704051415f;
    p = p * f + 0.0555073376039079497f;
    p = p * f + 0.240222420775837985f;
    p = p * f + 0.693146977587212711f;
    return p * f + 1.0f;
}
inline Vector<double> exp2_fraction(Vector<double> f) {
    Vector<double> p = broadcast(4.43477081037750148e-10);
    p = p * f + 7.07378328540206252e-9;
    p = p * f + 1.017819957530679e-7;
    p = p * f + 1.32154352820681861e-6;
    p = p * f + 0.0000152527334931184381;
    p = p * f + 0.000154035304571126412;
    p = p * f + 0.00133335581467746311;
    p = p * f + 0.00961812910759411958;
    p = p * f + 0.0555041086648200832;
    p = p * f + 0.240226506959101313;
    p = p * f + 0.693147180559945326;
    return p * f + 1.0;
}
template <class T> inline Vector<T> exp2(Vector<T> y) {
    y = maximum<T>(y, broadcast(Scalar<T>::smallest_exponent));
    Vector<T> shifted = y + Scalar<T>::round_shift;
    Vector<T> fraction = y - (shifted - Scalar<T>::round_shift);
    return scale_by_power<T>(exp2_fraction(fraction), shifted);
}

}  // namespace FWSVM_INSTRUCTION_SET
}  // namespace fwsvm
