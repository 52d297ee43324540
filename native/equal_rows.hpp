// Which stored rows are the same to the last bit.
#pragma once

#include "engine.hpp"

namespace fwsvm {

// first[i] = the first row that stores what row i stores, for every stored row of the view
void first_equal_rows(const RowsView&, int64_t* first, Execution&);

}  // namespace fwsvm
