// What happens to a tile of kernel values: it is stored, or multiplied by coefficients and summed.
#pragma once

#include <cstring>

#include "tiles.hpp"
#include "vector.hpp"

namespace fwsvm {
namespace FWSVM_INSTRUCTION_SET {

template <class T>
void store_tile(const Sink<T>& sink, int64_t first_row, int rows, int64_t first_column, int columns,
                const T* tile, int width) {
    for (int r = 0; r < rows; ++r)
        std::memcpy(sink.block + (first_row + r) * sink.block_stride + first_column,
                    tile + r * width, sizeof(T) * size_t(columns));
}

// running[r, lane] += tile[r, lane] coefficient[lane]: one coefficient column, summed lane by lane
template <class T>
void sum_tile(const T* tile, int rows, int width, const T* coefficients, T* running) {
    for (int r = 0; r < rows; ++r) {
        Vector<T> sum = load(running + r * lanes<T>);
        for (int j = 0; j < width; j += lanes<T>)
            sum = sum + load(tile + r * width + j) * load(coefficients + j);
        store(running + r * lanes<T>, sum);
    }
}

// One coefficient column: the lanes of each row, after all panels of a group.
template <class T> void add_running(const Sink<T>& sink, int rows, const T* running) {
    for (int r = 0; r < rows; ++r) {
        double sum = 0;
        for (int lane = 0; lane < lanes<T>; ++lane) sum += double(running[r * lanes<T> + lane]);
        sink.sums[r * sink.sums_stride] += sum;
    }
}

// Columns past the last real one: whatever the kernel makes of them must not count.
template <class T> void zero_padding(T* tile, int rows, int columns, int width) {
    for (int r = 0; r < rows; ++r)
        for (int j = columns; j < width; ++j) tile[r * width + j] = T(0);
}

// Symmetric product: the tile also counts for its columns, column_sums[j] += sum_r tile[r, j] row_coefficients[r],
// where it lies above the diagonal. `diagonal` is the column of the diagonal in the tile's first row: what
// lies left of it is zeroed (its mirror image counts), and the diagonal itself counts for the row alone.
template <class T>
void sum_tile_columns(const T* tile, int rows, int width, int64_t diagonal, const T* row_coefficients,
                      double* column_sums) {
    for (int j = 0; j < width; j += lanes<T>) {
        Vector<T> sum = broadcast(T(0));
        for (int r = 0; r < rows; ++r) sum = sum + load(tile + r * width + j) * row_coefficients[r];
        for (int lane = 0; lane < lanes<T>; ++lane) column_sums[j + lane] += double(sum[lane]);
    }
    for (int r = 0; r < rows; ++r)
        if (const int64_t j = diagonal + r; j >= 0 && j < width)
            column_sums[j] -= double(tile[r * width + j]) * double(row_coefficients[r]);
}
template <class T> void zero_below_diagonal(T* tile, int rows, int width, int64_t diagonal) {
    for (int r = 0; r < rows; ++r)
        for (int64_t j = 0; j < diagonal + r && j < width; ++j) tile[r * width + j] = T(0);
}

// running[r, c] += sum_j tile[r, j] coefficients[j, c] for `height` rows and `vectors` vectors of columns c
template <class T, int height, int vectors>
void multiply_rows(const T* tile, int width, const T* coefficients, int stride, T* running) {
    Vector<T> sum[height][vectors];
    FWSVM_UNROLL
    for (int r = 0; r < height; ++r)
        FWSVM_UNROLL
        for (int v = 0; v < vectors; ++v) sum[r][v] = load(running + r * stride + v * lanes<T>);
    for (int j = 0; j < width; ++j) {
        Vector<T> coefficient[vectors];
        FWSVM_UNROLL
        for (int v = 0; v < vectors; ++v) coefficient[v] = load(coefficients + j * stride + v * lanes<T>);
        FWSVM_UNROLL
        for (int r = 0; r < height; ++r)
            FWSVM_UNROLL
            for (int v = 0; v < vectors; ++v) sum[r][v] = sum[r][v] + coefficient[v] * tile[r * width + j];
    }
    FWSVM_UNROLL
    for (int r = 0; r < height; ++r)
        FWSVM_UNROLL
        for (int v = 0; v < vectors; ++v) store(running + r * stride + v * lanes<T>, sum[r][v]);
}

template <class T, int height>
void multiply_columns(const T* tile, int width, const T* coefficients, int stride, T* running) {
    int c = 0;
    for (; c + 4 * lanes<T> <= stride; c += 4 * lanes<T>)
        multiply_rows<T, height, 4>(tile, width, coefficients + c, stride, running + c);
    for (; c + 2 * lanes<T> <= stride; c += 2 * lanes<T>)
        multiply_rows<T, height, 2>(tile, width, coefficients + c, stride, running + c);
    if (c < stride) multiply_rows<T, height, 1>(tile, width, coefficients + c, stride, running + c);
}

// About eight sums at a time, so that none waits for its last addition.
template <class T>
void multiply_tile(const T* tile, int rows, int width, const T* coefficients, int stride, T* running) {
    int r = 0;
    if (stride == lanes<T>)
        for (; r + 7 <= rows; r += 7)
            multiply_rows<T, 7, 1>(tile + r * width, width, coefficients, stride, running + r * stride);
    for (; r + 4 <= rows; r += 4)
        multiply_columns<T, 4>(tile + r * width, width, coefficients, stride, running + r * stride);
    for (; r < rows; ++r)
        multiply_columns<T, 1>(tile + r * width, width, coefficients, stride, running + r * stride);
}

// sums[r, c] += running[r, c]
template <class T> void add_running_columns(const Sink<T>& sink, int rows) {
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < sink.coefficient_columns; ++c)
            sink.sums[r * sink.sums_stride + c] += double(sink.running[r * sink.coefficient_stride + c]);
}

}  // namespace FWSVM_INSTRUCTION_SET
}  // namespace fwsvm
