#pragma once

namespace kusari::training::html {

/// CSS of the page, for light and dark screens and for paper. Curves are styled by charts::kChartStyle.
extern const char* const kPageStyle;
/// Shows the values below the pointer, and the end of the log first.
extern const char* const kPageScript;

}  // namespace kusari::training::html
