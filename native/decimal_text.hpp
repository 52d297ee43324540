// Decimal text to the nearest double, the same in every locale.
#pragma once

namespace fwsvm {

enum class DecimalKind { finite, too_large, malformed };

struct Decimal {
    DecimalKind kind;
    double value;     // when finite
    const char* end;  // where it stops
};

// Reads [+-]digits[.digits][e[+-]digits] at the begin of [begin, end). No infinities, no hexadecimals.
Decimal read_decimal(const char* begin, const char* end);

}  // namespace fwsvm
