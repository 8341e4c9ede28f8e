// Preloaded into a Node server, which would listen on a fixed port of every address: makes it listen on a free port of
// 127.0.0.1, say which one, and end with its standard input, so that it cannot outlive the test that started it.
'use strict';

const net = require('node:net');

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (...given) {
  this.once('listening', () => process.stdout.write(`listening on ${this.address().port}\n`));
  const callbacks = given.filter((one) => typeof one === 'function');
  return listen.call(this, 0, '127.0.0.1', ...callbacks);
};

process.stdin.on('end', () => process.exit(0)).resume();
