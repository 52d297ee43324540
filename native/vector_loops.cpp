// Compiled once per instruction set. The loops are kept free of branches, so that the compiler turns them
// into vectors.

#include "vector_loops.hpp"

namespace fwsvm {
namespace FWSVM_INSTRUCTION_SET {
namespace {

// gradient[j] += sum_t weights[t] rows[t][j], four rows at a time so that the gradient is read and
// written once for four rows
template <class T>
void add_rows(const T* const* rows, const double* weights, int count, int64_t begin, int64_t end,
              double* gradient) {
    int t = 0;
    for (; t + 4 <= count; t += 4) {
        const T *r0 = rows[t], *r1 = rows[t + 1], *r2 = rows[t + 2], *r3 = rows[t + 3];
        const double w0 = weights[t], w1 = weights[t + 1], w2 = weights[t + 2], w3 = weights[t + 3];
        for (int64_t j = begin; j < end; ++j)
            gradient[j] += (w0 * r0[j] + w1 * r1[j]) + (w2 * r2[j] + w3 * r3[j]);
    }
    for (; t < count; ++t)
        for (int64_t j = begin; j < end; ++j) gradient[j] += weights[t] * rows[t][j];
}

template <class T> double dot(const T* values, const double* weights, int64_t count) {
    constexpr int parts = 32;  // sums side by side, which the compiler turns into vectors
    double sum[parts] = {};
    int64_t j = 0;
    for (; j + parts <= count; j += parts)
        for (int p = 0; p < parts; ++p) sum[p] += double(values[j + p]) * weights[j + p];
    for (int p = 1; p < parts; ++p) sum[0] += sum[p];
    for (; j < count; ++j) sum[0] += double(values[j]) * weights[j];
    return sum[0];
}

// First the extreme value, then where it is.
template <class T>
bool pair_steps(const T* matrix, int64_t stride, int64_t size, const double* diagonal, double* weights,
                double* gradient, double tolerance, int steps) {
    while (steps--) {
        double lowest = gradient[0];
        for (int64_t s = 1; s < size; ++s) lowest = gradient[s] < lowest ? gradient[s] : lowest;
        int64_t i = 0;
        while (gradient[i] != lowest) ++i;

        // the partner with the largest slope^2 / |z_i - z_s|^2
        const T* row_i = matrix + i * stride;
        auto gain_with = [=](int64_t s) {
            const double slope = weights[s] > 0 ? gradient[s] - lowest : 0.0;
            const double curvature = diagonal[i] + diagonal[s] - 2.0 * double(row_i[s]);
            return slope * slope / (curvature > 1e-12 ? curvature : 1e-12);
        };
        double steepest = 0, best = 0;
        for (int64_t s = 0; s < size; ++s) {
            const double slope = weights[s] > 0 ? gradient[s] - lowest : 0.0, gain = gain_with(s);
            steepest = slope > steepest ? slope : steepest;
            best = gain > best ? gain : best;
        }
        if (steepest <= tolerance || best <= 0) return false;
        int64_t j = 0;
        while (j + 1 < size && gain_with(j) < best * (1 - 1e-9)) ++j;

        const T* row_j = matrix + j * stride;
        const double curvature = diagonal[i] + diagonal[j] - 2.0 * double(row_i[j]);
        double amount = (gradient[j] - lowest) / (curvature > 1e-12 ? curvature : 1e-12);
        if (amount < weights[j]) {
            if (weights[j] - amount == weights[j] && weights[i] + amount == weights[i]) return false;  // lost in roundings
            weights[j] -= amount;
        } else {
            amount = weights[j];
            weights[j] = 0;
        }
        weights[i] += amount;
        for (int64_t s = 0; s < size; ++s) gradient[s] += amount * (double(row_i[s]) - double(row_j[s]));
    }
    return true;
}

// What a step on row i gains, (step)^2 kt_ii / 2 with the step clipped at b_i = 0, for every row; its largest.
// outputs[i] = sum_s b_s y_s (k_is + 1), so that o_i = y_i outputs[i].
double find_gains(const double* diagonal, int64_t size, const double* signs, const double* ridge,
                  const double* coefficients, const double* outputs, double* gains) {
    double best = 0;
    for (int64_t i = 0; i < size; ++i) {
        const double slope = 1.0 - signs[i] * outputs[i] - ridge[i] * coefficients[i];
        const double wanted = slope / diagonal[i];
        const double step = wanted > -coefficients[i] ? wanted : -coefficients[i];
        gains[i] = step * (slope - 0.5 * step * diagonal[i]);
        best = gains[i] > best ? gains[i] : best;
    }
    return best;
}

template <class T>
bool coordinate_steps(const T* kernel, int64_t stride, int64_t size, const double* signs, const double* ridge,
                      double* coefficients, double* outputs, double* work, int steps) {
    double *gains = work, *diagonal = work + size;
    for (int64_t i = 0; i < size; ++i) diagonal[i] = double(kernel[i * stride + i]) + 1.0 + ridge[i];
    while (steps--) {
        const double best = find_gains(diagonal, size, signs, ridge, coefficients, outputs, gains);
        if (!(best > 0)) return false;
        int64_t i = 0;
        while (gains[i] != best) ++i;
        const double slope = 1.0 - signs[i] * outputs[i] - ridge[i] * coefficients[i];
        const double wanted = coefficients[i] + slope / diagonal[i];
        const double next = wanted > 0 ? wanted : 0.0;
        const double change = (next - coefficients[i]) * signs[i];
        if (change == 0) return false;  // lost in roundings
        coefficients[i] = next;
        const T* row = kernel + i * stride;
        for (int64_t s = 0; s < size; ++s) outputs[s] += change * (double(row[s]) + 1.0);
    }
    return true;
}

template <class T> constexpr VectorLoops<T> loops() {
    return {add_rows<T>, dot<T>, pair_steps<T>, coordinate_steps<T>};
}

}  // namespace

const LoopTable& loop_table() {
    static const LoopTable table = {loops<float>(), loops<double>()};
    return table;
}

}  // namespace FWSVM_INSTRUCTION_SET
}  // namespace fwsvm
