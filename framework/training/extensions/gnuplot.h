#pragma once

#include <string>

namespace kusari::training::extensions {

/// Text as a string of gnuplot's.
std::string gnuplot_quoted(const std::string& text);
/// Draws a picture, which is replaced whole: gnuplot runs the script "set output <a file>\n" + `commands`, preceded by
/// the choice of a PNG of that size. False, and no picture, when gnuplot is missing or fails.
bool draw_with_gnuplot(const std::string& picture, int width, int height, const std::string& commands);

}  // namespace kusari::training::extensions
