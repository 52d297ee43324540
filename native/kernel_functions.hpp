// The kernel functions: what turns an inner quantity of two rows into a kernel value.
//
// To add one: a struct like those below, its line in `FWSVM_KERNELS` (tiles.hpp), and a class in
// src/fwsvm/kernels/native.py. docs/add_kernel.md walks through it.
//
//   Inner      what the tiles sum over the features: DotProduct a*b or AbsoluteDifference |a - b|
//   operator() the kernel value from that sum and the side values of row and column. Distances use
//              the side values: squared norms for rbf, L1 norms of sparse rows for laplacian.
//   is_distance  side values come multiplied by `factor`; where the distance cancels, exp2(factor x
//              distance) is computed again from the sum of distance_of(difference) over the features
#pragma once

#include "tiles.hpp"
#include "vector.hpp"

namespace fwsvm {
namespace FWSVM_INSTRUCTION_SET {

struct DotProduct {
    template <class T> static Vector<T> add(Vector<T> sum, T a, Vector<T> b) { return sum + b * a; }
    // the same for a feature that a sparse row does store
    template <class T> static Vector<T> add_stored(Vector<T> sum, T a, Vector<T> b) {
        return sum + b * a;
    }
};

struct AbsoluteDifference {
    template <class T> static Vector<T> add(Vector<T> sum, T a, Vector<T> b) {
        return sum + absolute<T>(b - a);
    }
    // |a - b| - |b|: the features a sparse row does not store give |b|, in all the column's L1 norm
    template <class T> static Vector<T> add_stored(Vector<T> sum, T a, Vector<T> b) {
        return sum + (absolute<T>(b - a) - absolute<T>(b));
    }
};

struct SquaredDifference {
    template <class T> static Vector<T> add(Vector<T> sum, T a, Vector<T> b) {
        const Vector<T> difference = b - a;
        return sum + difference * difference;
    }
};

constexpr double log2_e = 1.4426950408889634;

struct NoDistance {
    static constexpr bool is_distance = false;
    static constexpr double factor = 1;
};

// x . z
template <class T> struct Linear : NoDistance {
    using Inner = DotProduct;
    explicit Linear(const KernelParameters&) {}
    Vector<T> operator()(Vector<T> dot, T, Vector<T>) const { return dot; }
};

// exp(-gamma |x - z|^2),  |x - z|^2 = |x|^2 + |z|^2 - 2 x.z
template <class T> struct Rbf {
    using Inner = DotProduct;
    static constexpr bool is_distance = true;
    double factor;
    T minus_two_factor;
    explicit Rbf(const KernelParameters& p)
        : factor(-p.gamma * log2_e), minus_two_factor(T(-2 * factor)) {}
    static double distance_of(double difference) { return difference * difference; }
    Vector<T> operator()(Vector<T> dot, T row_norm, Vector<T> column_norms) const {
        const Vector<T> exponent = (column_norms + row_norm) + dot * minus_two_factor;
        return exp2<T>(minimum<T>(exponent, broadcast(T(0))));
    }
};

// The same of dense rows with few features: nothing cancels, for two operations a feature instead of one.
template <class T> struct RbfOfDifferences {
    using Inner = SquaredDifference;
    static constexpr bool is_distance = false;  // none that would have to be computed again
    T scale;
    explicit RbfOfDifferences(const KernelParameters& p) : scale(T(-p.gamma * log2_e)) {}
    Vector<T> operator()(Vector<T> distance, T, Vector<T>) const { return exp2<T>(distance * scale); }
};

// (gamma x.z + coef0)^degree
template <class T> struct Polynomial : NoDistance {
    using Inner = DotProduct;
    T gamma, coef0;
    int degree;
    explicit Polynomial(const KernelParameters& p)
        : gamma(T(p.gamma)), coef0(T(p.coef0)), degree(p.degree) {}
    Vector<T> operator()(Vector<T> dot, T, Vector<T>) const {
        Vector<T> square = dot * gamma + coef0, power = broadcast(T(1));
        for (int bits = degree; bits; bits >>= 1) {
            if (bits & 1) power = power * square;
            square = square * square;
        }
        return power;
    }
};

// tanh(gamma x.z + coef0) = 1 - 2 / (exp(2 u) + 1)
template <class T> struct Sigmoid : NoDistance {
    using Inner = DotProduct;
    T gamma, coef0;
    explicit Sigmoid(const KernelParameters& p) : gamma(T(p.gamma)), coef0(T(p.coef0)) {}
    Vector<T> operator()(Vector<T> dot, T, Vector<T>) const {
        Vector<T> exponent = (dot * gamma + coef0) * T(2 * log2_e);
        exponent = minimum<T>(exponent, broadcast(Scalar<T>::largest_exponent));
        return broadcast(T(1)) - broadcast(T(2)) / (exp2<T>(exponent) + T(1));
    }
};

// exp(-gamma sum |x - z|)
template <class T> struct Laplacian {
    using Inner = AbsoluteDifference;
    static constexpr bool is_distance = true;
    double factor;
    explicit Laplacian(const KernelParameters& p) : factor(-p.gamma * log2_e) {}
    static double distance_of(double difference) { return difference < 0 ? -difference : difference; }
    Vector<T> operator()(Vector<T> distance, T, Vector<T> column_l1_norms) const {
        return exp2<T>(minimum<T>(column_l1_norms + distance * T(factor), broadcast(T(0))));
    }
};

// Calls `use` with the kernel function named by the parameters.
template <class T, class Use> inline void with_kernel_function(const KernelParameters& p, Use use) {
    switch (p.name) {
#define FWSVM_CASE(name, Function) \
    case KernelName::name: return use(Function<T>(p));
        FWSVM_KERNELS(FWSVM_CASE)
#undef FWSVM_CASE
    }
}

}  // namespace FWSVM_INSTRUCTION_SET
}  // namespace fwsvm
