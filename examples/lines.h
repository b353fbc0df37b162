#pragma once

#include <fstream>
#include <string>
#include <vector>

#include <kusari/kusari.h>

// The lines of a text file, without their ends (\n or \r\n).
inline std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw kusari::IoError(path + " cannot be read");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  return lines;
}
