// The Python module fwsvm._native. It checks nothing but what would crash: src/fwsvm/rows.py and
// kernels.py are its only callers and speak to the user.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <stdexcept>

#include "engine.hpp"

namespace nb = nanobind;
using namespace fwsvm;

namespace {

template <class T, class... Config> using Array = nb::ndarray<T, nb::device::cpu, Config...>;
using Doubles = Array<const double, nb::ndim<1>, nb::c_contig>;
using Indices = Array<const int64_t, nb::ndim<1>, nb::c_contig>;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

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
    view.centre = centre && !view.is_sparse ? centre->data() : nullptr;
    return view;
}

// Runs `work(execution)` without the GIL; a pending signal such as Ctrl-C ends it with the exception
// that its Python handler raised.
template <class Work> void run(int threads, Work work) {
    bool interrupted = false;
    {
        nb::gil_scoped_release without_gil;
        Execution execution(threads, [] {
            nb::gil_scoped_acquire with_gil;
            return PyErr_CheckSignals() != 0;
        });
        try {
            work(execution);
        } catch (const Interrupted&) {
            interrupted = true;
        }
    }
    if (interrupted) throw nb::python_error();
}

template <class T> void bind_operations(nb::module_& m) {
    m.def("block", [](const NativeRows& a, const NativeRows& b, const KernelParameters& parameters,
                      std::optional<Doubles> a_side, std::optional<Doubles> b_side, std::optional<Doubles> centre,
                      Array<T, nb::ndim<2>> out, bool symmetric, int threads) {
        const RowsView left = view_of(a, a_side, centre), right = view_of(b, b_side, centre);
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

}  // namespace

NB_MODULE(_native, m) {
    nb::enum_<KernelName>(m, "KernelName")
        .value("linear", KernelName::linear)
        .value("rbf", KernelName::rbf)
        .value("polynomial", KernelName::polynomial)
        .value("sigmoid", KernelName::sigmoid)
        .value("laplacian", KernelName::laplacian);

    nb::class_<KernelParameters>(m, "KernelParameters")
        .def("__init__", [](KernelParameters* p, KernelName name, double gamma, double coef0, int degree) {
            new (p) KernelParameters{name, gamma, coef0, degree};
        }, nb::arg("name"), nb::arg("gamma") = 1.0, nb::arg("coef0") = 0.0, nb::arg("degree") = 1);

    nb::class_<NativeRows>(m, "NativeRows")
        .def("__init__", &initialise, nb::arg("values"), nb::arg("columns"), nb::arg("indices").none(),
             nb::arg("row_starts").none(), nb::arg("selection").none());

    m.def("norms", [](const NativeRows& rows, std::optional<Doubles> centre, int power, bool single_precision,
                      Array<double, nb::ndim<1>, nb::c_contig> out, int threads) {
        const RowsView view = view_of(rows, std::nullopt, centre);
        run(threads, [&](Execution& execution) { norms(view, power, single_precision, out.data(), execution); });
    }, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg());

    bind_operations<float>(m);
    bind_operations<double>(m);

    m.def("product", [](const NativeRows& a, const NativeRows& b, const KernelParameters& parameters,
                        std::optional<Doubles> a_side, std::optional<Doubles> b_side, std::optional<Doubles> centre,
                        Array<const double, nb::ndim<2>, nb::c_contig> coefficients,
                        Array<double, nb::ndim<2>, nb::c_contig> out, bool double_precision, int threads) {
        const RowsView left = view_of(a, a_side, centre), right = view_of(b, b_side, centre);
        const int columns = int(coefficients.shape(1));
        run(threads, [&](Execution& execution) {
            if (double_precision)
                product<double>(left, right, parameters, coefficients.data(), columns, out.data(), execution);
            else
                product<float>(left, right, parameters, coefficients.data(), columns, out.data(), execution);
        });
    }, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().noconvert(),
       nb::arg().noconvert(), nb::arg(), nb::arg());

    m.def("instruction_set", [] { return instruction_set().name; });
    m.def("available_instruction_sets", &available_instruction_sets);
}
