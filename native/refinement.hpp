// Kernel values of distances that cancelled, found and computed again.
#pragma once

#include <type_traits>

#include "tiles.hpp"
#include "vector.hpp"

namespace fwsvm {
namespace FWSVM_INSTRUCTION_SET {

// Where rows lie far from the origin but near each other, distances made of norms cancel. Those (few)
// kernel values are computed again from differences.
template <class T> struct Refinement {
    double error_factor;  // the rounding error of gamma x distance is about this x the smaller norm
    double target;        // what it may change a kernel value by
    double norm_limit;    // below this norm every value is good enough

    Refinement(const KernelParameters& p, double terms) {
        double root = 1;  // square root of the number of terms: roundings add up like a random walk
        while (root * root < terms) root += 1;
        const bool is_float = std::is_same<T, float>::value;
        error_factor = p.gamma * (is_float ? 5.96e-8 : 1.11e-16) * (3.0 + 0.5 * root);
        target = is_float ? float_error_target : double_error_target;
        norm_limit = target / error_factor;
    }

    // distances(first, wanted, to) puts the distances from columns first + lane, where wanted, into to[lane].
    template <class Function, class Distances>
    void row(const Function& function, double norm, const double* column_norms, int columns, T* values,
             Distances distances) const {
        if (norm <= norm_limit) return;
        for (int first = 0; first < columns; first += lanes<T>) {
            const int count = columns - first < lanes<T> ? columns - first : lanes<T>;
            if (all_good(norm, column_norms + first, count, values + first)) continue;
            bool wanted[lanes<T>] = {};
            double to[lanes<T>] = {};
            for (int lane = 0; lane < count; ++lane) {
                const double error = error_of(norm, column_norms[first + lane]);
                wanted[lane] = error > target && !is_small(double(values[first + lane]), error);
            }
            distances(first, wanted, to);
            Vector<T> exact = broadcast(T(0));
            for (int lane = 0; lane < lanes<T>; ++lane) exact[lane] = T(to[lane] > 0 ? function.factor * to[lane] : 0.0);
            exact = exp2<T>(exact);
            for (int lane = 0; lane < count; ++lane)
                if (wanted[lane]) values[first + lane] = exact[lane];
        }
    }

    double error_of(double norm, double other) const { return error_factor * (norm < other ? norm : other); }

    // The usual case without a branch: every error is moderate and cannot matter to its value.
    bool all_good(double norm, const double* column_norms, int count, const T* values) const {
        int doubtful = 0;
        for (int j = 0; j < count; ++j) {
            const double error = error_of(norm, column_norms[j]);
            doubtful |= int(error >= 0.1) | int(1.11 * double(values[j]) * error > target);
        }
        return doubtful == 0;
    }

    // Is the value with its error so small that the error cannot matter? A very large error may hide any value.
    bool is_small(double value, double error) const {
        if (error > 40) return false;
        const double most = error < 0.1 ? 1.11 * value : exp2<double>(broadcast(error * log2_e))[0] * value;
        return most * error <= target;
    }
};

}  // namespace FWSVM_INSTRUCTION_SET
}  // namespace fwsvm
