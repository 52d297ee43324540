// The kernel functions: what turns an inner quantity of two rows into a kernel value.
//
// To add one: a struct like those below, its name in `KernelName` (tiles.hpp) and in the list at
// the end of this file, and a class in src/fwsvm/kernels.py. docs/add_kernel.md walks through it.
//
//   Inner      what the tiles sum over the features: DotProduct a*b or AbsoluteDifference |a - b|
//   operator() the kernel value from that sum and the side values of row and column. Distances use
//              the side values: squared norms for rbf, L1 norms of sparse columns for laplacian.
//   side_factor  what side values were multiplied by on the way here (1 where there are none)
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

constexpr double log2_e = 1.4426950408889634;

struct NoSideValues {
    static double side_factor() { return 1; }
};

// x . z
template <class T> struct Linear : NoSideValues {
    using Inner = DotProduct;
    explicit Linear(const KernelParameters&) {}
    Vector<T> operator()(Vector<T> dot, T, Vector<T>) const { return dot; }
};

// exp(-gamma |x - z|^2),  |x - z|^2 = |x|^2 + |z|^2 - 2 x.z
template <class T> struct Rbf {
    using Inner = DotProduct;
    double factor;
    T minus_two_factor;
    explicit Rbf(const KernelParameters& p)
        : factor(-p.gamma * log2_e), minus_two_factor(T(-2 * factor)) {}
    double side_factor() const { return factor; }
    Vector<T> operator()(Vector<T> dot, T row_norm, Vector<T> column_norms) const {
        return exp2<T>((column_norms + row_norm) + dot * minus_two_factor);
    }
};

// (gamma x.z + coef0)^degree
template <class T> struct Polynomial : NoSideValues {
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
template <class T> struct Sigmoid : NoSideValues {
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
    double factor;
    explicit Laplacian(const KernelParameters& p) : factor(-p.gamma * log2_e) {}
    double side_factor() const { return factor; }
    Vector<T> operator()(Vector<T> distance, T, Vector<T> column_l1_norms) const {
        return exp2<T>(column_l1_norms + distance * T(factor));
    }
};

// Calls `use` with the kernel function named by the parameters: the one list of all kernels.
template <class T, class Use> inline void with_kernel_function(const KernelParameters& p, Use use) {
    switch (p.name) {
        case KernelName::linear: return use(Linear<T>(p));
        case KernelName::rbf: return use(Rbf<T>(p));
        case KernelName::polynomial: return use(Polynomial<T>(p));
        case KernelName::sigmoid: return use(Sigmoid<T>(p));
        case KernelName::laplacian: return use(Laplacian<T>(p));
    }
}

}  // namespace FWSVM_INSTRUCTION_SET
}  // namespace fwsvm
