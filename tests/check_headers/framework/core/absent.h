#pragma once

KUSARI_API Array read_idx(const std::string& path);
class KUSARI_API Reader {};
class KUSARI_API Secret {};
