#include "solver_loops.hpp"

#include <chrono>
#include <cstring>

namespace fwsvm {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

template <class T>
ActiveValues<T>::ActiveValues(const RowsView& rows, const KernelParameters& parameters, int64_t most_bytes)
    : rows_(rows), parameters_(parameters), most_bytes_(most_bytes) {
    const auto& tiles = tile_functions<T>();
    width_ = rows.is_sparse ? tiles.sparse_panel_width : tiles.dense_panel_width;
}

template <class T> void ActiveValues<T>::enter(int64_t row) {
    const int64_t slot = entered(), column = slot % width_;
    entered_.push_back(row);
    if (!packs_panels()) return;
    if (column == 0) {
        panels_.resize(panels_.size() + size_t(rows_.columns * width_), T(0));
        side_.resize(side_.size() + size_t(width_), T(0));
        exact_side_.resize(exact_side_.size() + size_t(width_), 0.0);
    }
    RowsView one = rows_;
    const int64_t stored = rows_.selection ? rows_.selection[row] : row;
    one.selection = &stored;
    one.count = 1;
    T* packed = scratch_.reserve(rows_.columns);
    tile_functions<T>().interleave(one, 0, 1, 1, nullptr, rows_.columns, packed);
    T* panel = panels_.data() + (slot - column) * rows_.columns;
    for (int64_t k = 0; k < rows_.columns; ++k) panel[k * width_ + column] = packed[k];
    exact_side_[size_t(slot)] = side_of(one, 0);
    side_[size_t(slot)] = T(traits_of(parameters_).side_factor * exact_side_[size_t(slot)]);
}

template <class T> const T* ActiveValues<T>::row(int64_t i, Execution& execution) {
    complete(&i, 1, execution);
    return known_.at(i).values.data();
}

template <class T>
void ActiveValues<T>::products(const int64_t* rows, int64_t count, const double* weights, double* out,
                               Execution& execution) {
    complete(rows, count, execution);
    const auto start = std::chrono::steady_clock::now();
    for (int64_t r = 0; r < count; ++r) {
        execution.check();
        out[r] = vector_loops<T>().dot(known_.at(rows[r]).values.data(), weights, entered());
    }
    counts_.seconds += seconds_since(start);
}

template <class T> Counts ActiveValues<T>::take_counts() {
    Counts counts;
    std::swap(counts, counts_);
    return counts;
}

// Computes what is missing of these rows, then lets go of the oldest others.
template <class T> void ActiveValues<T>::complete(const int64_t* rows, int64_t count, Execution& execution) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::pair<int64_t, int64_t>> order;  // (how many values are known, row)
    for (int64_t r = 0; r < count; ++r) {
        auto [place, is_new] = known_.try_emplace(rows[r]);
        Known& known = place->second;
        if (is_new) by_age_.push_front(rows[r]);
        else by_age_.splice(by_age_.begin(), by_age_, known.age);
        known.age = by_age_.begin();
        ++(known.count ? counts_.hits : counts_.misses);
        if (known.count < entered()) order.emplace_back(known.count, rows[r]);
    }
    std::sort(order.begin(), order.end());  // those that miss most come first
    order.erase(std::unique(order.begin(), order.end()), order.end());
    missing_.clear();
    std::vector<Known*> known;
    for (const auto& [n_known, row] : order) {
        execution.check();
        missing_.push_back(rows_.selection ? rows_.selection[row] : row);
        known.push_back(&known_.at(row));
        auto& values = known.back()->values;
        if (int64_t(values.size()) < entered()) {
            const size_t capacity = values.capacity();
            values.resize(size_t(entered()));
            bytes_ += int64_t((values.capacity() - capacity) * sizeof(T));
        }
    }
    if (!known.empty()) evaluate(known, execution);
    forget(count);
    counts_.seconds += seconds_since(start);
}

// `known` begins with the rows that miss most. What they know counts only when all is done: an interrupted call
// leaves it as it was.
template <class T> void ActiveValues<T>::evaluate(const std::vector<Known*>& known, Execution& execution) {
    RowsView view = rows_;
    view.selection = missing_.data();
    view.count = int64_t(known.size());
    if (packs_panels()) {
        const KernelTraits traits = traits_of(parameters_);
        const int64_t most_rows = tile_functions<T>().most_block_rows;
        Slots all;
        all.assign(rows_, 0, 0, rows_.is_sparse);
        for (int64_t first = 0; first < view.count; first += most_rows) {
            const int64_t count = std::min(most_rows, view.count - first);
            evaluate_block(known.data() + first, block_.pack(view, first, count, all, traits), execution);
        }
    } else {
        evaluate_without_panels(known, view, execution);
    }
    for (Known* row : known) row->count = entered();
}

// Many features: packs the entered rows that someone misses, and forgets them.
template <class T>
void ActiveValues<T>::evaluate_without_panels(const std::vector<Known*>& known, const RowsView& missing,
                                              Execution& execution) {
    const int64_t first = known.front()->count, count = entered() - first;
    std::vector<int64_t> stored;
    for (int64_t s = first; s < entered(); ++s)
        stored.push_back(rows_.selection ? rows_.selection[entered_[size_t(s)]] : entered_[size_t(s)]);
    RowsView columns = rows_;
    columns.selection = stored.data();
    columns.count = count;
    T* out = scratch_.reserve(missing.count * count);
    block<T>(missing, columns, parameters_, out, count, execution);
    for (size_t r = 0; r < known.size(); ++r)
        std::memcpy(known[r]->values.data() + first, out + int64_t(r) * count, sizeof(T) * size_t(count));
    counts_.evaluations += missing.count * count;
}

// The missing values form a staircase: panel by panel, the rows that miss some of it lead the block.
template <class T>
void ActiveValues<T>::evaluate_block(Known* const* known, const PackedRows<T>& rows, Execution& execution) {
    const int64_t panels = divide_up(entered(), width_);
    int64_t leading = 0;  // rows of the block that miss something of the panel
    for (int64_t p = known[0]->count / width_; p < panels;) {
        execution.check();
        while (leading < rows.rows && known[leading]->count / width_ <= p) ++leading;
        const int64_t next = leading < rows.rows ? known[leading]->count / width_ : panels;
        const int64_t group = std::min<int64_t>(panels_per_group, next - p);
        const int64_t column = p * width_, columns = std::min(entered() - column, group * width_);
        PackedRows<T> some = rows;
        some.rows = int(leading);
        Sink<T> sink{};
        sink.block = scratch_.reserve(leading * group * width_);
        sink.block_stride = group * width_;
        sink.skip_below = leading;
        const PackedPanels<T> packed{int(group), width_, rows_.columns, columns,
                                     panels_.data() + column * rows_.columns, side_.data() + column,
                                     exact_side_.data() + column};
        tile_functions<T>().evaluate(parameters_, rows_.is_sparse, some, packed, sink);
        for (int64_t r = 0; r < leading; ++r)
            std::memcpy(known[r]->values.data() + column, sink.block + r * sink.block_stride, sizeof(T) * size_t(columns));
        counts_.evaluations += leading * columns;
        p += group;
    }
}

template <class T> void ActiveValues<T>::forget(int64_t keep) {
    while (bytes_ > most_bytes_ && int64_t(by_age_.size()) > keep) {
        const auto oldest = known_.find(by_age_.back());
        bytes_ -= int64_t(oldest->second.values.capacity() * sizeof(T));
        known_.erase(oldest);
        by_age_.pop_back();
    }
}

template <class T>
void minimise_on_simplex(const T* matrix, int64_t stride, int64_t size, double* weights, double* gradient,
                         double tolerance, Execution& execution) {
    constexpr int steps_between_checks = 200;
    std::vector<double> diagonal;
    for (int64_t s = 0; s < size; ++s) diagonal.push_back(double(matrix[s * stride + s]));
    while (vector_loops<T>().pair_steps(matrix, stride, size, diagonal.data(), weights, gradient, tolerance, steps_between_checks))
        execution.check();
}

template <class T>
bool coordinate_descent(const T* kernel, int64_t stride, int64_t size, const double* signs, const double* ridge,
                        double* coefficients, double* outputs, double tolerance, int64_t most_steps,
                        Execution& execution) {
    std::vector<double> work(size_t(3 * size));
    const int steps = int(std::clamp<int64_t>(size, 64, 1000));
    bool goes_on = true;
    for (int64_t done = 0;; done += steps) {
        double linear = 0, norm2 = 0, ridges = 0, slacks = 0;
        for (int64_t i = 0; i < size; ++i) {
            const double margin = signs[i] * outputs[i], slack = std::max(0.0, 1.0 - margin);
            linear += coefficients[i];
            norm2 += coefficients[i] * margin;
            ridges += ridge[i] * coefficients[i] * coefficients[i];
            slacks += slack * slack / ridge[i];
        }
        const double primal = 0.5 * (norm2 + slacks), dual = linear - 0.5 * (norm2 + ridges);
        if (primal - dual <= tolerance * primal) return true;
        if (!goes_on || done >= most_steps) return false;
        execution.check();
        goes_on = vector_loops<T>().coordinate_steps(kernel, stride, size, signs, ridge, coefficients, outputs,
                                                     work.data(), steps);
    }
}

template class ActiveValues<float>;
template class ActiveValues<double>;
template void minimise_on_simplex<float>(const float*, int64_t, int64_t, double*, double*, double, Execution&);
template void minimise_on_simplex<double>(const double*, int64_t, int64_t, double*, double*, double, Execution&);

template bool coordinate_descent<float>(const float*, int64_t, int64_t, const double*, const double*, double*, double*,
                                        double, int64_t, Execution&);
template bool coordinate_descent<double>(const double*, int64_t, int64_t, const double*, const double*, double*,
                                         double*, double, int64_t, Execution&);

}  // namespace fwsvm
