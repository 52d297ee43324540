// The Python module fwsvm._native. It checks nothing but what would crash: the Python code of src/fwsvm is
// its only caller and speaks to the user.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

#include "engine.hpp"
#include "equal_rows.hpp"
#include "libsvm_text.hpp"
#include "solver_loops.hpp"

namespace nb = nanobind;
using namespace fwsvm;

namespace {

template <class T, class... Config> using Array = nb::ndarray<T, nb::device::cpu, Config...>;
using Doubles = Array<const double, nb::ndim<1>, nb::c_contig>;
using Indices = Array<const int64_t, nb::ndim<1>, nb::c_contig>;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

KernelName kernel_name(const std::string& wanted) {
#define FWSVM_RETURN(name, Function) \
    if (wanted == #name) return KernelName::name;
    FWSVM_KERNELS(FWSVM_RETURN)
#undef FWSVM_RETURN
    throw std::invalid_argument("the engine has no kernel with the name " + wanted);
}

// Keeps the arrays alive that its view points into.
struct NativeRows {
    RowsView view{};
    AnyArray values, indices, row_starts;
    std::optional<Indices> selection;
};

void initialise(NativeRows* rows, AnyArray values, int64_t columns, std::optional<AnyArray> indices,
                std::optional<AnyArray> row_starts, std::optional<Indices> selection) {
    new (rows) NativeRows;
    RowsView& view = rows->view;
    auto is_plain = [](const AnyArray& array) {
        return array.ndim() == 1 && (array.shape(0) < 2 || array.stride(0) == 1);
    };
    if (indices && !(is_plain(values) && is_plain(*indices) && is_plain(*row_starts)))
        throw std::invalid_argument("the arrays of CSR data must be one-dimensional and contiguous");
    view.columns = columns;
    view.is_sparse = indices.has_value();
    view.is_double = values.dtype() == nb::dtype<double>();
    view.values = values.data();
    if (view.is_sparse) {
        view.has_wide_indices = indices->dtype() == nb::dtype<int64_t>();
        if (row_starts->dtype() != indices->dtype())
            throw std::invalid_argument("indices and row_starts must have one dtype");
        view.indices = indices->data();
        view.row_starts = row_starts->data();
        view.count = int64_t(row_starts->shape(0)) - 1;
        rows->indices = *indices;
        rows->row_starts = *row_starts;
    } else {
        if (values.ndim() != 2 || (columns > 1 && values.shape(0) > 0 && values.stride(1) != 1))
            throw std::invalid_argument("dense values must be two-dimensional with contiguous rows");
        view.stride = values.stride(0);
        view.count = int64_t(values.shape(0));
    }
    if (selection) {
        view.count = int64_t(selection->shape(0));
        view.selection = selection->data();
    }
    rows->values = values;
    rows->selection = selection;
}

RowsView view_of(const NativeRows& rows, const std::optional<Doubles>& side,
                 const std::optional<Doubles>& centre) {
    RowsView view = rows.view;
    view.side = side ? side->data() : nullptr;
    view.centre = centre ? centre->data() : nullptr;
    return view;
}

using Clock = std::chrono::steady_clock;
// When the calls of a thread have to end.
thread_local Clock::time_point deadline = Clock::time_point::max();

// A call has reached the deadline of its thread.
struct OutOfTime : std::exception {
    const char* what() const noexcept override { return "the deadline of this thread has passed"; }
};

// Runs `work(execution)` without the GIL; a pending signal such as Ctrl-C ends it with the exception
// that its Python handler raised, and the deadline with OutOfTime.
template <class Work> void run(int threads, Work work) {
    bool interrupted = false;
    // Only the main thread receives signals; the others need not wait for the GIL.
    const bool is_main = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident")) ==
                         PyThread_get_thread_ident();
    {
        nb::gil_scoped_release without_gil;
        Execution execution(threads, [is_main] {
            if (Clock::now() >= deadline) return true;
            if (!is_main) return false;
            nb::gil_scoped_acquire with_gil;
            return PyErr_CheckSignals() != 0;
        });
        try {
            work(execution);
        } catch (const Interrupted&) {
            interrupted = true;
        }
    }
    if (!interrupted) return;
    if (PyErr_Occurred()) throw nb::python_error();
    throw OutOfTime();
}

template <class T> void bind_operations(nb::module_& m) {
    m.def("block", [](const NativeRows& a, const NativeRows& b, const KernelParameters& parameters,
                      std::optional<Doubles> a_side, std::optional<Doubles> b_side, std::optional<Doubles> centre,
                      Array<T, nb::ndim<2>> out, bool symmetric, int threads) {
        const RowsView left = view_of(a, a_side, centre), right = view_of(b, b_side, centre);
        if (int64_t(out.shape(0)) != left.count || int64_t(out.shape(1)) != right.count)
            throw std::invalid_argument("out must have the shape of the block");
        run(threads, [&](Execution& execution) {
            if (symmetric) symmetric_block<T>(right, parameters, out.data(), out.stride(0), execution);
            else block<T>(left, right, parameters, out.data(), out.stride(0), execution);
        });
    }, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg().none(), nb::arg().none(),
       nb::arg().none(), nb::arg().noconvert(), nb::arg(), nb::arg());

    m.def("add_rows", [](Array<const T, nb::ndim<2>> stored, Indices rows, Doubles weights,
                         Array<double, nb::ndim<1>, nb::c_contig> gradient, int threads) {
        run(threads, [&](Execution& execution) {
            add_rows<T>(stored.data(), stored.stride(0), rows.data(), weights.data(), int(rows.shape(0)),
                        int64_t(stored.shape(1)), gradient.data(), execution);
        });
    }, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg());
}

// The arrays behind the views must live as long as the values do.
template <class T> struct NativeActiveValues {
    NativeRows rows;
    std::optional<Doubles> side, centre;
    ActiveValues<T> values;

    NativeActiveValues(const NativeRows& rows, const KernelParameters& parameters, std::optional<Doubles> side,
                       std::optional<Doubles> centre, int64_t most_bytes)
        : rows(rows), side(side), centre(centre), values(view_of(rows, side, centre), parameters, most_bytes) {}

    void check(int64_t row) const {
        if (row < 0 || row >= rows.view.count) throw nb::index_error("row number out of range");
    }
};

template <class T> void bind_solver_loops(nb::module_& m, const char* name) {
    using Values = NativeActiveValues<T>;
    nb::class_<Values>(m, name)
        .def(nb::init<const NativeRows&, const KernelParameters&, std::optional<Doubles>, std::optional<Doubles>,
                      int64_t>(),
             nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg())
        .def("enter", [](Values& v, int64_t row) { v.check(row); v.values.enter(row); })
        .def("row", [](Values& v, int64_t row) {
            v.check(row);
            const T* values = nullptr;
            run(1, [&](Execution& execution) { values = v.values.row(row, execution); });
            return nb::ndarray<nb::numpy, const T, nb::ndim<1>>(
                values, {size_t(v.values.entered())}, nb::find(v));
        })
        .def("products", [](Values& v, Indices rows, Doubles weights, Array<double, nb::ndim<1>, nb::c_contig> out) {
            if (int64_t(weights.shape(0)) != v.values.entered() || out.shape(0) != rows.shape(0))
                throw std::invalid_argument("one weight for each entered row, one output for each row");
            for (size_t r = 0; r < rows.shape(0); ++r) v.check(rows(r));
            run(1, [&](Execution& execution) {
                v.values.products(rows.data(), int64_t(rows.shape(0)), weights.data(), out.data(), execution);
            });
        }, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert())
        .def("take_counts", [](Values& v) {
            const Counts counts = v.values.take_counts();
            return nb::make_tuple(counts.evaluations, counts.seconds, counts.hits, counts.misses);
        });

    m.def("coordinate_descent", [](Array<const T, nb::ndim<2>> kernel, Doubles signs, Doubles ridge,
                                   Array<double, nb::ndim<1>, nb::c_contig> coefficients,
                                   Array<double, nb::ndim<1>, nb::c_contig> outputs, double tolerance,
                                   int64_t most_steps) {
        const int64_t size = int64_t(kernel.shape(0));
        if (int64_t(kernel.shape(1)) < size || int64_t(signs.shape(0)) != size || int64_t(ridge.shape(0)) != size ||
            int64_t(coefficients.shape(0)) != size || int64_t(outputs.shape(0)) != size)
            throw std::invalid_argument("all arrays must fit the square kernel matrix");
        bool converged = false;
        run(1, [&](Execution& execution) {
            converged = coordinate_descent<T>(kernel.data(), kernel.stride(0), size, signs.data(), ridge.data(),
                                              coefficients.data(), outputs.data(), tolerance, most_steps, execution);
        });
        return converged;
    }, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
       nb::arg().noconvert(), nb::arg(), nb::arg());

    m.def("minimise_on_simplex", [](Array<const T, nb::ndim<2>> matrix, Array<double, nb::ndim<1>, nb::c_contig> weights,
                                    Array<double, nb::ndim<1>, nb::c_contig> gradient, double tolerance) {
        run(1, [&](Execution& execution) {
            minimise_on_simplex<T>(matrix.data(), matrix.stride(0), int64_t(matrix.shape(0)), weights.data(),
                                   gradient.data(), tolerance, execution);
        });
    }, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg());
}

// A NumPy array that owns what was a vector.
template <class T> auto array_of(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner);
}

template <class T> void bind_libsvm_parser(nb::module_& m, const char* name) {
    using Parser = LibsvmParser<T>;
    nb::class_<Parser>(m, name)
        .def(nb::init<bool, int64_t>())
        .def("feed", [](Parser& parser, nb::bytes text, size_t begin, int64_t most_rows) {
            if (begin > text.size()) throw std::invalid_argument("begin must lie within the text");
            nb::gil_scoped_release without_gil;
            return begin + parser.feed(text.c_str() + begin, text.size() - begin, most_rows);
        })
        .def("finish", &Parser::finish)
        .def_prop_ro("held_rows", &Parser::held_rows)
        .def_prop_ro("features", &Parser::features)
        .def("take", [](Parser& parser) {
            ParsedRows<T> rows = parser.take();
            return nb::make_tuple(array_of(std::move(rows.values)), array_of(std::move(rows.indices)),
                                  array_of(std::move(rows.row_starts)), array_of(std::move(rows.labels)));
        });
}

}  // namespace

NB_MODULE(_native, m) {
    nb::class_<KernelParameters>(m, "KernelParameters")
        .def("__init__", [](KernelParameters* p, const std::string& name, double gamma, double coef0, int degree) {
            new (p) KernelParameters{kernel_name(name), gamma, coef0, degree};
        }, nb::arg("name"), nb::arg("gamma") = 1.0, nb::arg("coef0") = 0.0, nb::arg("degree") = 1);

    nb::class_<NativeRows>(m, "NativeRows")
        .def("__init__", &initialise, nb::arg("values"), nb::arg("columns"), nb::arg("indices").none(),
             nb::arg("row_starts").none(), nb::arg("selection").none());

    m.def("first_equal_rows", [](const NativeRows& rows, Array<int64_t, nb::ndim<1>, nb::c_contig> first, int threads) {
        if (rows.view.selection || int64_t(first.shape(0)) != rows.view.count)
            throw std::invalid_argument("first must have one value for each stored row");
        run(threads, [&](Execution& execution) { first_equal_rows(rows.view, first.data(), execution); });
    }, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg());

    nb::exception<OutOfTime>(m, "OutOfTimeError", PyExc_TimeoutError);
    m.def("set_deadline", [](std::optional<double> seconds) {
        constexpr double longest = 1e9;  // a clock counts no further than some centuries
        deadline = seconds && *seconds < longest
            ? Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds))
            : Clock::time_point::max();
    }, nb::arg().none());
    m.def("norms", [](const NativeRows& rows, std::optional<Doubles> centre, int power, bool single_precision,
                      Array<double, nb::ndim<1>, nb::c_contig> out, int threads) {
        const RowsView view = view_of(rows, std::nullopt, centre);
        run(threads, [&](Execution& execution) { norms(view, power, single_precision, out.data(), execution); });
    }, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg());

    bind_operations<float>(m);
    bind_operations<double>(m);
    bind_solver_loops<float>(m, "ActiveValuesFloat");
    bind_solver_loops<double>(m, "ActiveValuesDouble");

    bind_libsvm_parser<float>(m, "LibsvmParserFloat");
    bind_libsvm_parser<double>(m, "LibsvmParserDouble");

    m.def("product", [](const NativeRows& a, const NativeRows& b, const KernelParameters& parameters,
                        std::optional<Doubles> a_side, std::optional<Doubles> b_side, std::optional<Doubles> centre,
                        Array<const double, nb::ndim<2>, nb::c_contig> coefficients,
                        Array<double, nb::ndim<2>, nb::c_contig> out, bool double_precision, int threads) {
        const RowsView left = view_of(a, a_side, centre), right = view_of(b, b_side, centre);
        const int columns = int(coefficients.shape(1));
        if (int64_t(coefficients.shape(0)) != right.count || int64_t(out.shape(0)) != left.count ||
            out.shape(1) != coefficients.shape(1))
            throw std::invalid_argument("coefficients and out must fit the rows");
        run(threads, [&](Execution& execution) {
            if (double_precision)
                product<double>(left, right, parameters, coefficients.data(), columns, out.data(), execution);
            else
                product<float>(left, right, parameters, coefficients.data(), columns, out.data(), execution);
        });
    }, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().noconvert(),
       nb::arg().noconvert(), nb::arg(), nb::arg());

    m.def("symmetric_product", [](const NativeRows& a, const KernelParameters& parameters, std::optional<Doubles> side,
                                  std::optional<Doubles> centre, Doubles coefficients,
                                  Array<double, nb::ndim<1>, nb::c_contig> out, bool double_precision, int threads) {
        const RowsView view = view_of(a, side, centre);
        if (int64_t(coefficients.shape(0)) != view.count || int64_t(out.shape(0)) != view.count)
            throw std::invalid_argument("coefficients and out must fit the rows");
        run(threads, [&](Execution& execution) {
            auto compute = double_precision ? symmetric_product<double> : symmetric_product<float>;
            compute(view, parameters, coefficients.data(), out.data(), execution);
        });
    }, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().noconvert(), nb::arg().noconvert(),
       nb::arg(), nb::arg());

    m.def("instruction_set", [] { return instruction_set().name; });
    m.def("available_instruction_sets", &available_instruction_sets);
}
