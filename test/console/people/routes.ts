// The routes of the console, as its server registers them.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import type { Harness } from '../harness.ts'

/** Every route of the console: `GET /projects/:projectId/payments`. */
export async function routesOf(harness: Harness): Promise<string[]> {
  const routes: string[] = []
  const listen = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', ({ method, url }) => {
      for (const one of [method].flat()) routes.push(`${one} ${url}`)
    })
  }
  subscribe('fastify.initialization', listen)
  const app = await harness.another({}).finally(() => unsubscribe('fastify.initialization', listen))
  await app.close()
  return routes.filter((route) => /^(GET|POST) /.test(route))
}

/** The same of projects alone. */
export async function routesOfProjects(harness: Harness): Promise<string[]> {
  return (await routesOf(harness)).filter((route) => route.includes(' /projects/:projectId'))
}

/** The route of `routes` that a request reaches: of those that match, the one with the fewest parameters. */
export function routeOf(method: string, path: string, routes: string[]): string | undefined {
  const asked = `${method} ${path.split('?')[0]}`
  const parameter = /:\w+/g
  const count = (route: string) => route.match(parameter)?.length ?? 0
  return routes
    .filter((route) => {
      const pattern = route.replaceAll('.', String.raw`\.`).replaceAll(parameter, '[^/]+')
      return new RegExp(`^${pattern}$`).test(asked)
    })
    .toSorted((one, next) => count(one) - count(next))[0]
}
