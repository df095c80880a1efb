// The one unit that holds Asio's functions that are no templates.
#include <boost/asio/impl/src.hpp>
