// The one unit that holds Beast's functions that are no templates, and its HTTP parser.
#include <boost/beast/src.hpp>
