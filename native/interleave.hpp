// Rows of any storage and type into the packed form that the tiles read.
#pragma once

#include <cstring>

#include "tiles.hpp"

namespace fwsvm {
namespace FWSVM_INSTRUCTION_SET {

constexpr int widest_interleaving = 64;

inline int64_t stored_row(const RowsView& view, int64_t i) {
    return view.selection ? view.selection[i] : i;
}


template <class S, class T>
void interleave_dense(const RowsView& view, int64_t first, int count, int width, T* to) {
    constexpr int features = 16;  // a few features of all rows at a time: whole cache lines
    const S* row[widest_interleaving];
    for (int i = 0; i < count; ++i)
        row[i] = static_cast<const S*>(view.values) + stored_row(view, first + i) * view.stride;
    for (int64_t k0 = 0; k0 < view.columns; k0 += features) {
        const int64_t k1 = k0 + features < view.columns ? k0 + features : view.columns;
        for (int i = 0; i < count; ++i)
            for (int64_t k = k0; k < k1; ++k)
                to[k * width + i] = view.centre ? T(double(row[i][k]) - view.centre[k])
                                                : T(row[i][k]);
        for (int i = count; i < width; ++i)
            for (int64_t k = k0; k < k1; ++k) to[k * width + i] = T(0);
    }
}

template <class S, class I, class T>
void interleave_sparse(const RowsView& view, int64_t first, int count, int width,
                       const int32_t* slot_of, int64_t depth, T* to) {
    const S* values = static_cast<const S*>(view.values);
    const I* indices = static_cast<const I*>(view.indices);
    const I* row_starts = static_cast<const I*>(view.row_starts);
    std::memset(to, 0, sizeof(T) * size_t(depth) * size_t(width));
    for (int i = 0; i < count; ++i) {
        const int64_t row = stored_row(view, first + i);
        for (I p = row_starts[row]; p < row_starts[row + 1]; ++p) {
            const int64_t slot = slot_of ? slot_of[indices[p]] : indices[p];
            to[slot * width + i] = view.centre ? T(double(values[p]) - view.centre[indices[p]]) : T(values[p]);
        }
    }
}

template <class T>
void interleave(const RowsView& view, int64_t first, int count, int width, const int32_t* slot_of,
                int64_t depth, T* to) {
    if (view.is_sparse) {
        auto pack = view.is_double
            ? (view.has_wide_indices ? interleave_sparse<double, int64_t, T>
                                     : interleave_sparse<double, int32_t, T>)
            : (view.has_wide_indices ? interleave_sparse<float, int64_t, T>
                                     : interleave_sparse<float, int32_t, T>);
        pack(view, first, count, width, slot_of, depth, to);
    } else {
        auto pack = view.is_double ? interleave_dense<double, T> : interleave_dense<float, T>;
        pack(view, first, count, width, to);
    }
}

}  // namespace FWSVM_INSTRUCTION_SET
}  // namespace fwsvm
