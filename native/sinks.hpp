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

// sums[r, c] += sum_j tile[r, j] coefficients[j, c] for `height` rows and many columns c
template <class T, int height>
void multiply_rows(const Sink<T>& sink, const T* tile, int width, const T* coefficients, double* sums) {
    constexpr int vectors = 4;
    for (int c0 = 0; c0 < sink.coefficient_stride; c0 += vectors * lanes<T>) {
        const int part = sink.coefficient_stride - c0 < vectors * lanes<T>
            ? (sink.coefficient_stride - c0) / lanes<T> : vectors;
        Vector<T> sum[height][vectors];
        for (int r = 0; r < height; ++r)
            for (int v = 0; v < vectors; ++v) sum[r][v] = broadcast(T(0));
        if (part == vectors) {
            for (int j = 0; j < width; ++j)
                FWSVM_UNROLL
                for (int r = 0; r < height; ++r)
                    FWSVM_UNROLL
                    for (int v = 0; v < vectors; ++v)
                        sum[r][v] = sum[r][v] + load(coefficients + j * sink.coefficient_stride
                                                     + c0 + v * lanes<T>) * tile[r * width + j];
        } else {
            for (int j = 0; j < width; ++j)
                for (int r = 0; r < height; ++r)
                    for (int v = 0; v < part; ++v)
                        sum[r][v] = sum[r][v] + load(coefficients + j * sink.coefficient_stride
                                                     + c0 + v * lanes<T>) * tile[r * width + j];
        }
        for (int r = 0; r < height; ++r)
            for (int c = c0; c < sink.coefficient_columns && c < c0 + part * lanes<T>; ++c)
                sums[r * sink.sums_stride + c] += double(sum[r][(c - c0) / lanes<T>][(c - c0) % lanes<T>]);
    }
}

template <class T>
void multiply_tile(const Sink<T>& sink, int64_t first_row, int rows, int64_t first_column, const T* tile, int width) {
    const T* coefficients = sink.coefficients + first_column * sink.coefficient_stride;
    double* sums = sink.sums + first_row * sink.sums_stride;
    for (int r = 0; r < rows; r += 2, tile += 2 * width, sums += 2 * sink.sums_stride) {
        if (r + 2 <= rows) multiply_rows<T, 2>(sink, tile, width, coefficients, sums);
        else multiply_rows<T, 1>(sink, tile, width, coefficients, sums);
    }
}

}  // namespace FWSVM_INSTRUCTION_SET
}  // namespace fwsvm
