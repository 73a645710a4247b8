// How the configuration of NATS reads the passwords of its users.

/** The line of `passwords.conf` that holds a user's password. */
export function natsPasswordLine(user: string, password: string): string {
  return `${user.toUpperCase().replaceAll('-', '_')}_PASSWORD: "${password}"\n`
}
