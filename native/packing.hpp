// Rows packed for the tiles, in memory that is kept from call to call.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <vector>

#include "engine.hpp"

namespace fwsvm {

constexpr int64_t direct_slots = 2048;            // up to so many features every panel has them all

template <class T> const TileFunctions<T>& tile_functions();
template <> inline const TileFunctions<float>& tile_functions<float>() {
    return *instruction_set().table->single_precision;
}
template <> inline const TileFunctions<double>& tile_functions<double>() {
    return *instruction_set().table->double_precision;
}

template <class T> const VectorLoops<T>& vector_loops();
template <> inline const VectorLoops<float>& vector_loops<float>() { return instruction_set().loops->single_precision; }
template <> inline const VectorLoops<double>& vector_loops<double>() { return instruction_set().loops->double_precision; }

inline KernelTraits traits_of(const KernelParameters& parameters) { return instruction_set().table->traits(parameters); }

inline int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

// Memory that a thread keeps from call to call, aligned to cache lines.
template <class T> class Buffer {
  public:
    T* reserve(int64_t count) {
        if (count > capacity_) {
            memory_.reset();
            memory_.reset(static_cast<T*>(::operator new(sizeof(T) * size_t(count), std::align_val_t(64))));
            capacity_ = count;
        }
        return memory_.get();
    }

    int64_t bytes() const { return capacity_ * int64_t(sizeof(T)); }

  private:
    struct Free {
        void operator()(T* p) const { ::operator delete(p, std::align_val_t(64)); }
    };
    std::unique_ptr<T, Free> memory_;
    int64_t capacity_ = 0;
};

template <class Index, class Use>
void each_stored(const RowsView& view, int64_t row, Use use) {
    const Index* starts = static_cast<const Index*>(view.row_starts);
    const Index* indices = static_cast<const Index*>(view.indices);
    for (int64_t p = starts[row]; p < starts[row + 1]; ++p) use(int64_t(indices[p]), p);
}

// use(feature, position in values) for each stored value of row i of the view
template <class Use> void each_stored_of(const RowsView& view, int64_t i, Use use) {
    const int64_t row = view.selection ? view.selection[i] : i;
    if (view.has_wide_indices)
        each_stored<int64_t>(view, row, use);
    else
        each_stored<int32_t>(view, row, use);
}

// Stored values of a row, on average over a few rows: the features of dense rows.
inline int64_t stored_values_of_a_row(const RowsView& view) {
    if (!view.is_sparse) return view.columns;
    int64_t stored = 0;
    const int64_t sample = std::min<int64_t>(view.count, 64);
    for (int64_t i = 0; i < sample; ++i)
        each_stored_of(view, i * (view.count / sample), [&](int64_t, int64_t) { ++stored; });
    return sample ? divide_up(stored, sample) : 0;
}

// Rows of a piece of work that reads every value once: some milliseconds, so that a call ends soon when asked to.
inline int64_t rows_of_a_pass(const RowsView& view) {
    constexpr int64_t values_of_a_pass = 1 << 20;
    return std::clamp<int64_t>(values_of_a_pass / std::max<int64_t>(1, stored_values_of_a_row(view)), 1, 1 << 12);
}

inline double value_at(const RowsView& view, int64_t position) {
    return view.is_double ? static_cast<const double*>(view.values)[position]
                          : double(static_cast<const float*>(view.values)[position]);
}

// The value at a position that each_stored_of gave, less the centre.
inline double centred_value(const RowsView& view, int64_t feature, int64_t position) {
    const double value = value_at(view, position);
    return view.centre ? value - view.centre[feature] : value;
}

inline double side_of(const RowsView& view, int64_t i) {
    return view.side ? view.side[view.selection ? view.selection[i] : i] : 0.0;
}

// Which features the rows of one chunk of columns use, numbered in order of appearance. With few
// features, or dense rows on either side, every feature is its own slot.
class Slots {
  public:
    void assign(const RowsView& rows, int64_t first, int64_t count, bool other_is_sparse) {
        for (int64_t feature : used_) slot_of_[size_t(feature)] = -1;
        used_.clear();
        direct_ = !rows.is_sparse || !other_is_sparse || rows.columns <= direct_slots;
        columns_ = rows.columns;
        if (direct_) return;
        if (int64_t(slot_of_.size()) < rows.columns) slot_of_.resize(size_t(rows.columns), -1);
        for (int64_t i = first; i < first + count; ++i)
            each_stored_of(rows, i, [&](int64_t feature, int64_t) {
                int32_t& slot = slot_of_[size_t(feature)];
                if (slot >= 0) return;
                slot = int32_t(used_.size());
                used_.push_back(feature);
            });
    }
    int64_t depth() const { return direct_ ? columns_ : int64_t(used_.size()); }
    const int32_t* table() const { return direct_ ? nullptr : slot_of_.data(); }
    int64_t bytes() const { return int64_t(slot_of_.capacity() * sizeof(int32_t)); }

  private:
    std::vector<int32_t> slot_of_;
    std::vector<int64_t> used_;
    int64_t columns_ = 0;
    bool direct_ = true;
};

// The columns of one chunk, packed once and read by all threads.
template <class T> class Chunk {
  public:
    void pack(const RowsView& b, int64_t first, int64_t count, bool other_is_sparse, int width,
              const KernelTraits& traits, Execution& execution) {
        const auto& tiles = tile_functions<T>();
        slots_.assign(b, first, count, other_is_sparse);
        const int64_t panels = divide_up(count, width), padded = panels * width;
        const int64_t panel_size = slots_.depth() * width;
        T* values = values_.reserve(panels * panel_size);
        T* side = side_.reserve(padded);
        double* exact_side = exact_side_.reserve(padded);
        execution.parallel_for(panels, [&](int64_t p) {
            const int64_t begin = p * width, size = std::min<int64_t>(width, count - begin);
            tiles.interleave(b, first + begin, int(size), width, slots_.table(), slots_.depth(),
                             values + p * panel_size);
            for (int64_t j = 0; j < width; ++j) {
                exact_side[begin + j] = j < size ? side_of(b, first + begin + j) : 0.0;
                side[begin + j] = T(traits.side_factor * exact_side[begin + j]);
            }
        });
        count_ = count;
        width_ = width;
    }

    // the panels [first, first + count)
    PackedPanels<T> group(int64_t first, int64_t count) {
        const int64_t column = first * width_;
        return {int(count), width_, slots_.depth(), std::min(count_ - column, count * width_),
                values_.reserve(0) + column * slots_.depth(), side_.reserve(0) + column,
                exact_side_.reserve(0) + column};
    }
    const Slots& slots() const { return slots_; }
    int64_t bytes() const { return slots_.bytes() + values_.bytes(); }
    int64_t panels() const { return divide_up(count_, width_); }

  private:
    Slots slots_;
    Buffer<T> values_, side_;
    Buffer<double> exact_side_;
    int64_t count_ = 0;
    int width_ = 1;
};

// A block of rows, packed by the thread that works on it.
template <class T> class Block {
  public:
    PackedRows<T> pack(const RowsView& a, int64_t first, int64_t count, const Slots& slots,
                       const KernelTraits& traits) {
        const int64_t height = tile_functions<T>().tile_rows;
        T* side = side_.reserve(divide_up(count, height) * height);  // tiles read it as a whole
        double* exact_side = exact_side_.reserve(count);
        for (int64_t i = 0; i < count; ++i) {
            exact_side[i] = side_of(a, first + i);
            side[i] = T(traits.side_factor * exact_side[i]);
        }
        if (a.is_sparse) pack_sparse(a, first, count, slots.table(), traits);
        else pack_dense(a, first, count);
        return {int(count), values_.reserve(0), slots_.data(), row_starts_.data(), start_.data(),
                all_ones_, side, exact_side};
    }

    int64_t bytes() const { return values_.bytes() + int64_t(slots_.capacity() * sizeof(int32_t)); }

  private:
    void pack_dense(const RowsView& a, int64_t first, int64_t count) {
        const auto& tiles = tile_functions<T>();
        const int64_t height = tiles.tile_rows;
        T* values = values_.reserve(divide_up(count, height) * height * a.columns);
        for (int64_t i = 0; i < count; i += height)
            tiles.interleave(a, first + i, int(std::min(height, count - i)), int(height), nullptr,
                             a.columns, values + i * a.columns);
    }

    // Features that no column of the chunk has do not reach the tiles: they add nothing to an inner
    // product, and |a| to a sum of absolute differences.
    void pack_sparse(const RowsView& a, int64_t first, int64_t count, const int32_t* slot_of,
                     const KernelTraits& traits) {
        slots_.clear();
        row_starts_.assign(1, 0);
        start_.clear();
        all_ones_ = true;
        int64_t stored = 0;
        for (int64_t i = 0; i < count; ++i) each_stored_of(a, first + i, [&](int64_t, int64_t) { ++stored; });
        T* values = values_.reserve(stored);
        for (int64_t i = 0; i < count; ++i) {
            double outside = 0;
            each_stored_of(a, first + i, [&](int64_t feature, int64_t position) {
                const double value = centred_value(a, feature, position);
                const int32_t slot = slot_of ? slot_of[feature] : int32_t(feature);
                if (slot >= 0) {
                    values[slots_.size()] = T(value);
                    all_ones_ = all_ones_ && value == 1.0;
                    slots_.push_back(slot);
                } else if (traits.absolute_difference) {
                    outside += std::abs(value);
                }
            });
            row_starts_.push_back(int64_t(slots_.size()));
            start_.push_back(T(outside));
        }
    }

    Buffer<T> values_, side_;
    Buffer<double> exact_side_;
    std::vector<int32_t> slots_;
    std::vector<int64_t> row_starts_;
    std::vector<T> start_;
    bool all_ones_ = false;
};

}  // namespace fwsvm
